// Each distribution against the enumeration of its actions: frequencies of
// draws, and log-propensities.
#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/core/policies/enumeration.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/patience.h"

namespace sortition {
namespace {

bool IsPossible(const DistributionCase& c, const Action& action) {
  return c.Distribution()->LogPropensity(c.Candidates(), action) > -HUGE_VAL;
}

class SamplerTest : public testing::TestWithParam<DistributionCase> {};

// Seeds are fixed. Of the 140 cases one would fail by chance for 1 set of seeds
// in 70.
TEST_P(SamplerTest, DrawsEveryActionAsOftenAsItShould) {
  const uint64_t num_draws = IsLongRun() ? 1000000 : 400000;
  const DistributionCase& c = GetParam();
  const auto distribution = c.Distribution();
  const std::vector<Action> actions = AllActions(c);
  std::map<Action, size_t> index;
  std::vector<double> probabilities;
  std::vector<double> log_propensities;
  for (const Action& action : actions) {
    index[action] = probabilities.size();
    probabilities.push_back(
        static_cast<double>(ExactProbability(c, action, actions.size())));
    log_propensities.push_back(
        distribution->LogPropensity(c.Candidates(), action));
  }
  std::vector<uint64_t> counts(actions.size());
  DistributionScratch scratch;
  ScoredCandidates candidates = c.Candidates();
  candidates.scratch = &scratch;
  Draw draw;
  for (uint64_t seed = 0; seed < num_draws; ++seed) {
    distribution->Sample(candidates, CounterRandom(SeedKey(seed)), &draw);
    const auto found = index.find(draw.action);
    ASSERT_NE(found, index.end());
    ++counts[found->second];
    // The same bits, whatever the buffers held before.
    ASSERT_EQ(draw.log_propensity, log_propensities[found->second]);
  }
  EXPECT_GT(ChiSquarePValue(counts, probabilities), 1e-4);
}

TEST_P(SamplerTest, ProbabilitiesAddUpToOne) {
  const DistributionCase& c = GetParam();
  const auto distribution = c.Distribution();
  double sum = 0;
  for (const Action& action : AllActions(c)) {
    sum += std::exp(distribution->LogPropensity(c.Candidates(), action));
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

// Relative to the larger of 1 and |log p|: logits of 1e4 are themselves rounded
// to 1e-12, and a probability of e^-20000 is as exact as that allows.
TEST_P(SamplerTest, LogPropensityIsExact) {
  const DistributionCase& c = GetParam();
  const auto distribution = c.Distribution();
  const std::vector<Action> actions = AllActions(c);
  for (const Action& action : actions) {
    const auto exact = static_cast<double>(
        std::log(ExactProbability(c, action, actions.size())));
    const double log_p = distribution->LogPropensity(c.Candidates(), action);
    if (exact == -HUGE_VAL) {
      // Boltzmann and sorted rankings give such actions probability 0; others
      // give e^-20000, which long double cannot represent.
      EXPECT_TRUE((!c.boltzmann && !c.sorted) || log_p == exact);
      continue;
    }
    EXPECT_LE(log_p, 0);
    EXPECT_NEAR(log_p, exact, 1e-14 * std::max(1.0, std::abs(exact)));
  }
}

TEST_P(SamplerTest, ConditionalsAddUpToTheLogPropensity) {
  const DistributionCase& c = GetParam();
  const auto distribution = c.Distribution();
  std::vector<double> conditionals;
  for (const Action& action : AllActions(c)) {
    if (!IsPossible(c, action)) continue;
    distribution->ConditionalLogPropensities(c.Candidates(), action,
                                             &conditionals);
    ASSERT_EQ(conditionals.size(), action.size());
    double sum = 0;
    for (const double conditional : conditionals) {
      EXPECT_LE(conditional, 0);
      sum += conditional;
    }
    const double log_p = distribution->LogPropensity(c.Candidates(), action);
    EXPECT_NEAR(sum, log_p, 1e-14 * std::max(1.0, std::abs(log_p)));
  }
}

// The conditional at a rank is the ratio of two prefix probabilities, so the
// prefix of an order has the conditionals of the order.
TEST_P(SamplerTest, PrefixesShareTheirConditionals) {
  const DistributionCase& c = GetParam();
  if (c.kind != ActionKind::kRank || c.top_k < 2) return;
  const auto distribution = c.Distribution();
  ScoredCandidates shorter = c.Candidates();
  --shorter.top_k;
  std::vector<double> conditionals;
  std::vector<double> of_prefix;
  for (const Action& action : AllActions(c)) {
    if (!IsPossible(c, action)) continue;
    const std::span<const int32_t> prefix(action.data(), action.size() - 1);
    distribution->ConditionalLogPropensities(c.Candidates(), action,
                                             &conditionals);
    distribution->ConditionalLogPropensities(shorter, prefix, &of_prefix);
    for (size_t r = 0; r < of_prefix.size(); ++r) {
      EXPECT_NEAR(conditionals[r], of_prefix[r],
                  1e-14 * std::max(1.0, std::abs(of_prefix[r])));
    }
  }
}

TEST_P(SamplerTest, FirstProbabilitiesAreMarginals) {
  const DistributionCase& c = GetParam();
  const auto distribution = c.Distribution();
  std::vector<double> marginals(c.scores.size());
  double abstain = 0;
  for (const Action& action : AllActions(c)) {
    const double p =
        std::exp(distribution->LogPropensity(c.Candidates(), action));
    (action[0] == kAbstain ? abstain : marginals[action[0]]) += p;
  }
  std::vector<double> probabilities(c.scores.size());
  EXPECT_NEAR(distribution->FirstProbabilities(c.Candidates(), probabilities),
              abstain, 1e-12);
  for (size_t i = 0; i < marginals.size(); ++i) {
    EXPECT_NEAR(probabilities[i], marginals[i], 1e-12) << i;
  }
}

TEST_P(SamplerTest, ModeIsMostProbable) {
  const DistributionCase& c = GetParam();
  if (FactorsRise(c)) return;
  const auto distribution = c.Distribution();
  const Action mode = distribution->Mode(c.Candidates());
  const double log_p = distribution->LogPropensity(c.Candidates(), mode);
  bool before_mode = true;
  for (const Action& action : AllActions(c)) {
    if (action == mode) before_mode = false;
    const double other = distribution->LogPropensity(c.Candidates(), action);
    const double rounding = 1e-14 * std::max(1.0, std::abs(log_p));
    EXPECT_LE(other, log_p + rounding);
    // Ties go to the lower positions.
    if (before_mode) {
      EXPECT_LT(other, log_p - rounding);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SamplerTest, testing::ValuesIn(AllCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Sorted, SamplerTest, testing::ValuesIn(SortedCases()),
                         CaseName);

}  // namespace
}  // namespace sortition
