// Front ends that show something else than was decided, with known truth.

#include "core/base/hash.h"
#include "core/counterfactual/evaluation/improvement.h"
#include "core/counterfactual/moments.h"
#include "core/learners/counterfactual/linear_weights.h"
#include "io/files.h"
#include "tests/trainer/offpolicy/train_fixture.h"
#include "trainer/offpolicy/guardrails.h"
#include "trainer/report.h"
#include "trainer/train.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

using config::v1::PoemOptions;

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
  const LinearPolicy policy = *LinearPolicy::Create(model);
  PolicyWorkspace workspace;
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    log::v1::Decision decision =
        MakeTuple({}, absl::StrCat("fresh", i)).decision();
    Draw draw;
    policy.Decide(QueryOf(decision), DecisionKey("true", 1, absl::StrCat(i)),
                  &workspace, &draw);
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
    std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, n);
    for (auto& tuple : tuples) Override(share, &tuple);
    Prepare(tuples, LoggingModel({}));
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

// Complaints about actions that the rule showed count neither for the log nor
// for a policy that makes the same decisions.
TEST_F(OverridesTrainTest, AsShownAnUnchangedPolicyKeepsItsGuardrails) {
  PrepareOverridden(2000, 0.3);
  std::string rows = "decision_id,reward\n";
  for (int i = 0; i < 2000; ++i) absl::StrAppend(&rows, "d", i, ",-1\n");
  ASSERT_OK(WriteFile(dir_ / "complaints.csv", rows));
  options_.add_rewards("complaints=" + (dir_ / "complaints.csv") +
                       "@horizon=0s@through=2023-01-01");
  options_.add_guardrails("complaints:0.5");
  options_.set_overrides("as_shown");
  ASSERT_OK_AND_ASSIGN(const TupleData data, ReadTuples(options_, {}));
  const LinearFamily family{.num_features = data.num_features,
                            .can_abstain = true,
                            .uniform_mixture = 0.1};
  const WeightedTuples test =
      *WeighLinear(family, *ParametersOf(family, LoggingModel({})), data.test);
  ASSERT_GT(test.shown_otherwise, 0u);
  const auto guardrails =
      JudgeGuardrails(data.guarded, {.test = test, .missing = {}});
  ASSERT_THAT(guardrails, testing::SizeIs(1));
  EXPECT_NEAR(guardrails[0].change().value(), 0, 1e-9);
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
  auto tuples = MakeTuples({.version = 2}, 4000, "new");
  for (auto& tuple : tuples) Override(0.3, &tuple);
  Prepare(tuples, LoggingModel({}));
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

// The self-normalised objective on a log that hardly explores: it must not get
// a policy into the store that does what was never logged.

constexpr double kEasyShare = 0.2;
constexpr double kEasyReward = 0.9;
constexpr double kHardReward = 0.3;
constexpr double kSharpness = 12;

// The first of four candidates is right for nearly one query in three, the
// others never are. Features: whether it is the first; the same if the query is
// hard. The policy that logs practically always takes the first.
model::v1::Model SharpModel() {
  model::v1::Model model;
  model.set_name("default");
  model.set_num_features(2);
  model.add_weights(kSharpness);
  model.add_weights(0);
  model.mutable_policy()->set_inverse_temperature(1);
  model.mutable_policy()->mutable_softmax_selection();
  return model;
}

std::vector<log::v1::BanditTuple> SharpTuples(size_t n) {
  RandomSequence random(SeedKey(1));
  std::vector<log::v1::BanditTuple> tuples(n);
  for (size_t i = 0; i < n; ++i) {
    const bool is_hard = random.Uniform() >= kEasyShare;
    log::v1::Decision* decision = tuples[i].mutable_decision();
    decision->set_decision_id(absl::StrCat("d", i));
    decision->set_model("default");
    decision->set_version(1);
    *decision->mutable_policy() = SharpModel().policy();
    decision->set_action_kind(log::v1::SELECT);
    decision->set_num_candidates(4);
    decision->set_num_features(2);
    decision->mutable_dense_values()->Resize(8, 0);
    decision->set_dense_values(0, 1);
    decision->set_dense_values(1, is_hard ? 1 : 0);
    decision->add_action(0);
    decision->set_log_propensity(-std::log1p(3 * std::exp(-kSharpness)));
    const double reward = is_hard ? kHardReward : kEasyReward;
    tuples[i].set_reward(random.Uniform() < reward ? 1 : 0);
    tuples[i].set_has_feedback(true);
  }
  return tuples;
}

double TrueReward(const model::v1::Model& model) {
  const double factor = model.policy().inverse_temperature();
  const auto takes_first = [&](double score) {
    const double first = 1 / (1 + 3 * std::exp(-factor * score));
    const double mixture = model.policy().uniform_mixture();
    return (1 - mixture) * first + mixture / 4;
  };
  return kEasyShare * kEasyReward * takes_first(model.weights(0)) +
         (1 - kEasyShare) * kHardReward *
             takes_first(model.weights(0) + model.weights(1));
}

class LeftLogTrainTest : public TrainFixture {
 protected:
  void SetUp() override {
    Prepare(SharpTuples(3000), SharpModel());
    options_.mutable_poem()->clear_lambda();
    options_.mutable_poem()->clear_l2();
    options_.set_uniform_mixture(0);
    options_.set_force(true);
    options_.mutable_poem()->set_objective(PoemOptions::SELF_NORMALISED);
    options_.mutable_poem()->set_optimiser(PoemOptions::BATCH);
    options_.mutable_poem()->set_start(PoemOptions::ZERO);
  }
};

// Without the guard, what is published takes the first candidate of hard
// queries with probability 0, and earns 0.18.
TEST_F(LeftLogTrainTest, WhatIsPublishedDoesNotDoWhatWasNeverLogged) {
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  ASSERT_OK_AND_ASSIGN(const StoredModel learned,
                       store_.Load("default", report.version()));
  EXPECT_GT(TrueReward(learned.model), TrueReward(SharpModel()) - 0.01);
  const auto& evaluation = report.evaluation();
  ASSERT_GT(evaluation.findings_size(), 0);
  std::string kinds;
  for (const auto& finding : evaluation.findings()) {
    absl::StrAppend(&kinds, finding.kind(), "\n");
  }
  EXPECT_THAT(kinds, HasSubstr("left_the_log"));
  bool has_crm = false;
  bool has_self_normalised = false;
  for (const auto& point : evaluation.grid()) {
    has_crm |= point.objective() == "CRM";
    has_self_normalised |= point.objective() == "SELF_NORMALISED";
    if (point.chosen()) {
      EXPECT_EQ(point.objective(), "CRM");
    }
  }
  EXPECT_TRUE(has_crm);
  EXPECT_TRUE(has_self_normalised);
}

}  // namespace
}  // namespace sortition
