// Front ends that show something else than was decided, with known truth.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/counterfactual/evaluation/improvement.h"
#include "core/counterfactual/moments.h"
#include "core/learners/counterfactual/linear_weights.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/trainer/offpolicy/train_fixture.h"
#include "trainer/report.h"
#include "trainer/train.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

using testing::HasSubstr;

// A rule shows the first candidate instead of what was chosen, in this share of
// the decisions, whatever was chosen.
void Override(double share, log::v1::BanditTuple* tuple) {
  RandomSequence random(StableHash(HashDomain::kSimulation,
                                   {tuple->decision().decision_id(), "rule"}));
  if (random.Uniform() >= share || tuple->decision().action(0) == 0) return;
  log::v1::Decision shown = tuple->decision();
  shown.set_action(0, 0);
  tuple->mutable_shown()->add_shown(0);
  tuple->set_reward(random.Uniform() < RewardProbability(shown) ? 1 : 0);
}

// The expected reward of a model on fresh queries, with the rule. Standard
// error 0.5 / √n at most.
double TrueReward(const model::v1::Model& model, double share, int n) {
  const LinearPolicy policy = *LinearPolicy::Create(
      model.policy(), {model.weights().begin(), model.weights().end()});
  PolicyWorkspace workspace;
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    log::v1::Decision decision =
        MakeTuple({}, absl::StrCat("fresh", i)).decision();
    const std::vector<float> features(decision.dense_values().begin(),
                                      decision.dense_values().end());
    PolicyQuery query;
    query.candidates =
        Candidates::DenseUnchecked(features, decision.num_features());
    Draw draw;
    policy.Decide(query, DecisionKey("true", 1, absl::StrCat(i)), &workspace,
                  &draw);
    decision.set_action(0, draw.action[0]);
    const double as_chosen = RewardProbability(decision);
    decision.set_action(0, 0);
    sum += (1 - share) * as_chosen + share * RewardProbability(decision);
  }
  return sum / n;
}

class OverridesTrainTest : public TrainFixture {
 protected:
  void PrepareOverridden(size_t n, double share) {
    Prepare({}, 0);
    std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, n);
    for (auto& tuple : tuples) Override(share, &tuple);
    WriteSegment(dir_.Sub("tuples"), 1, tuples);
  }

  // What the policy that logged would earn more than itself, on all tuples.
  Interval ImprovementOfTheSamePolicy(Moments* lost) {
    const TupleData data = *ReadTuples(options_, {});
    const LinearFamily family{.num_features = data.num_features,
                              .can_abstain = true,
                              .uniform_mixture = 0.1};
    const Eigen::VectorXd parameters = *ParametersOf(family, LoggingModel({}));
    std::vector<double> rewards;
    std::vector<double> log_weights;
    std::vector<uint64_t> units;
    for (const auto* part : {&data.train, &data.validation, &data.test}) {
      const WeightedTuples weighted = *WeighLinear(family, parameters, *part);
      rewards.insert(rewards.end(), weighted.rewards.begin(),
                     weighted.rewards.end());
      log_weights.insert(log_weights.end(), weighted.log_weights.begin(),
                         weighted.log_weights.end());
      units.insert(units.end(), weighted.units.begin(), weighted.units.end());
      for (const BanditTuple& tuple : *part) {
        lost->Add(tuple.action_shown ? 0 : -tuple.loss);
      }
    }
    return EstimateImprovement(
        {.rewards = rewards, .log_weights = log_weights, .units = units}, 0.95);
  }
};

// The weights of an unchanged policy are 1. As shown, they are 0 where
// something else was shown: what that earned, -o r̄, is lost.
TEST_F(OverridesTrainTest, AnUnchangedPolicyEarnsTheSame) {
  PrepareOverridden(2000, 0.3);
  Moments none;
  const Interval same = ImprovementOfTheSamePolicy(&none);
  EXPECT_EQ(none.mean(), 0);
  EXPECT_NEAR(same.value, 0, 1e-9);
  EXPECT_LE(same.lower, 0);
  EXPECT_GE(same.upper, 0);
  options_.set_overrides("as_shown");
  Moments lost;
  const Interval less = ImprovementOfTheSamePolicy(&lost);
  EXPECT_NEAR(less.value, -lost.mean(), 1e-9);
  // o is 0.3 of the six sevenths or so that are not the first candidate; r̄ is
  // 1/2 by symmetry. Deviation 0.35 / √2000 = 0.008; 5 of them.
  EXPECT_NEAR(less.value, -0.3 * 6 / 7 * 0.5, 0.04);
  // The upper end takes the rewards that were lost for 1.
  EXPECT_LT(less.lower, less.value);
  EXPECT_GT(less.upper, 0);
}

TEST_F(OverridesTrainTest, ABetterPolicyPasses) {
  constexpr double kShare = 0.3;
  PrepareOverridden(4000, kShare);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  ASSERT_TRUE(report.gate_passed()) << FormatReport(report);
  EXPECT_THAT(FormatReport(report), HasSubstr("intent_to_treat"));
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store_.Load("default", 2));
  const double truth = TrueReward(stored.model, kShare, 20000) -
                       TrueReward(LoggingModel({}), kShare, 20000);
  const auto& improvement = report.evaluation().improvement();
  EXPECT_LT(improvement.lower(), truth);
  EXPECT_GT(improvement.upper(), truth);
  // Some 1000 tuples with weights of a deviation of 1.
  EXPECT_NEAR(improvement.value(), truth, 0.1);
}

// As shown, what the rule earns is lost to every new policy.
TEST_F(OverridesTrainTest, AsShownABetterPolicyMayNotPass) {
  PrepareOverridden(4000, 0.6);
  options_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(const auto intended, Train(options_));
  options_.set_overrides("as_shown");
  ASSERT_OK_AND_ASSIGN(const auto shown, Train(options_));
  EXPECT_TRUE(intended.gate_passed()) << FormatReport(intended);
  EXPECT_FALSE(shown.gate_passed()) << FormatReport(shown);
}

TEST_F(OverridesTrainTest, ARuleThatKnowsTheVersionIsFound) {
  PrepareOverridden(1000, 0);
  ASSERT_OK(store_.Publish(LoggingModel({}), nullptr, {}));
  SyntheticLog newest;
  newest.version = 2;
  std::vector<log::v1::BanditTuple> tuples;
  for (int i = 0; i < 4000; ++i) {
    tuples.push_back(MakeTuple(newest, absl::StrCat("new", i)));
    Override(0.3, &tuples.back());
  }
  WriteSegment(dir_.Sub("tuples"), 2, tuples);
  options_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  ASSERT_GT(report.evaluation().findings_size(), 0);
  const auto& finding = report.evaluation().findings(0);
  EXPECT_EQ(finding.kind(), "overrides_depend_on_version");
  EXPECT_EQ(finding.gravity(), model::v1::Finding::UNSUPPORTED);
  EXPECT_THAT(report.evaluation().verdict(),
              HasSubstr("Note: The share of decisions of which something"));
  // As shown, whose rule it is does not matter.
  options_.set_overrides("as_shown");
  ASSERT_OK_AND_ASSIGN(const auto shown, Train(options_));
  for (const auto& other : shown.evaluation().findings()) {
    EXPECT_NE(other.kind(), "overrides_depend_on_version");
  }
}

}  // namespace
}  // namespace sortition
