// What a log predicts of explorations, against logs that they wrote.
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/counterfactual/moments.h"
#include "core/policies/distribution_factory.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/trainer/exploration/small_world.h"
#include "trainer/exploration/exploration_notation.h"
#include "trainer/exploration/exploration_table.h"

namespace sortition {
namespace {

constexpr size_t kDecisions = 40000;
constexpr uint32_t kCandidates = 5;
constexpr uint32_t kRanks = 2;

model::v1::Policy PolicyOf(const std::string& name, double alpha = 1.5) {
  return *ParseExploration(name, alpha);
}

ScoredCandidates Scored(std::span<const double> scores) {
  ScoredCandidates scored;
  scored.scores = scores;
  scored.top_k = kRanks;
  return scored;
}

// Decisions about random queries: five candidates, of which two are ranked.
class Simulation {
 public:
  Simulation(const std::string& policy, const std::string& seed)
      : distribution_(*MakeActionDistribution(PolicyOf(policy))), seed_(seed) {}

  BanditTuple Decide(size_t i) const {
    const Hash128 key =
        StableHash(HashDomain::kSimulation, {absl::StrCat(seed_, i)});
    RandomSequence random(key);
    BanditTuple tuple = WorldTuple({}, 0, 0, i);
    tuple.values.clear();
    std::vector<double> scores;
    for (uint32_t d = 0; d < kCandidates; ++d) {
      tuple.values.push_back(static_cast<float>(random.Normal()));
      scores.push_back(tuple.values.back());
    }
    Draw draw;
    distribution_->Sample(Scored(scores), CounterRandom(key, 1), &draw);
    tuple.action = draw.action;
    tuple.log_propensity = draw.log_propensity;
    // Candidates of scores near 0.5 please most.
    const double miss = scores[draw.action[0]] - 0.5;
    const double miss_below = scores[draw.action[1]] - 0.5;
    const double pleases = 0.1 + 0.5 * std::exp(-miss * miss) +
                           0.3 * std::exp(-miss_below * miss_below);
    tuple.loss = random.Uniform() < pleases ? -1 : 0;
    return tuple;
  }

 private:
  std::unique_ptr<const ActionDistribution> distribution_;
  std::string seed_;
};

double LogProbability(const std::string& policy, double alpha,
                      const BanditTuple& tuple) {
  const std::vector<double> scores(tuple.values.begin(), tuple.values.end());
  return (*MakeActionDistribution(PolicyOf(policy, alpha)))
      ->LogPropensity(Scored(scores), tuple.action);
}

TEST(SimulatedExplorationTest, FreshLogsSpreadAsWasPredicted) {
  const Simulation logged("pl:alpha=1", "logged");
  std::vector<BanditTuple> tuples;
  Moments rewards;
  for (size_t i = 0; i < kDecisions; ++i) {
    tuples.push_back(logged.Decide(i));
    rewards.Add(-tuples.back().loss);
  }
  google::protobuf::RepeatedPtrField<std::string> named;
  for (const char* const name :
       {"pl:alpha=1:factors=2/0.5", "sorted:shuffle=0.3x5:uniform=0.3",
        "sorted:swap=0.4:uniform=0.2"}) {
    named.Add(name);
  }
  const model::v1::Model model = WorldModel(1.5);
  ASSERT_OK_AND_ASSIGN(const auto table,
                       MeasureExplorations({.model = model,
                                            .validation = tuples,
                                            .test = tuples,
                                            .explorations = named}));
  for (int k = table.rows_size() - named.size(); k < table.rows_size(); ++k) {
    const auto& row = table.rows(k);
    SCOPED_TRACE(row.exploration());
    const Simulation fresh(row.exploration(), "fresh");
    Moments seen;
    Moments squares;
    Moments terms;
    Moments earned;
    for (size_t i = 0; i < kDecisions; ++i) {
      const BanditTuple tuple = fresh.Decide(i);
      const double change = std::exp(LogProbability("pl", 3, tuple)) -
                            std::exp(LogProbability("pl", 1.5, tuple));
      const double f = change / std::exp(tuple.log_propensity) *
                       (-tuple.loss - rewards.mean());
      seen.Add(f);
      squares.Add(f * f);
      terms.Add(
          std::exp(tuple.log_propensity - LogProbability("pl", 1, tuple)) * f *
          f * f * f);
      earned.Add(-tuple.loss);
    }
    // Standard errors of the seen and of the predicted variance, whose terms
    // g = e/p f² in the log have E_p[g²] = E_e[e/p f⁴].
    const double error =
        std::sqrt((squares.variance() + terms.mean()) / kDecisions);
    EXPECT_NEAR(row.deviation() * row.deviation(), seen.variance(), 5 * error);
    EXPECT_LT(error, 0.1 * seen.variance());
    // The interval at 95 % and the mean seen; both have errors.
    const double reward_error =
        std::sqrt(earned.variance() / kDecisions) +
        (row.snips_reward().upper() - row.snips_reward().value()) / 1.96;
    EXPECT_NEAR(row.snips_reward().value(), earned.mean(), 5 * reward_error);
  }
}

}  // namespace
}  // namespace sortition
