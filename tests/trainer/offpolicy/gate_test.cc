#include "trainer/gate.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/counterfactual/moments.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/models/look_ledger.h"
#include "tests/trainer/offpolicy/train_fixture.h"
#include "trainer/report.h"
#include "trainer/train.h"
#include "trainer/tuples/scan/left_out.h"

namespace sortition {
namespace {

using testing::HasSubstr;

using GateTest = TrainFixture;

TEST_F(GateTest, GateKeepsNoiseOutAndForceOverrides) {
  SyntheticLog log;
  log.rewards_are_noise = true;
  Prepare(log, 2000);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_FALSE(report.gate_passed());
  EXPECT_FALSE(report.has_version());
  EXPECT_FALSE(report.evaluation().promoted());
  EXPECT_THAT(report.evaluation().verdict(), HasSubstr("Not published"));
  EXPECT_THAT(store_.ListVersions("default"),
              testing::Property(&absl::StatusOr<std::vector<uint64_t>>::value,
                                testing::ElementsAre(1)));
  options_.set_force(true);
  ASSERT_OK_AND_ASSIGN(const auto forced, Train(options_));
  EXPECT_FALSE(forced.gate_passed());
  EXPECT_EQ(forced.version(), 2);
  EXPECT_THAT(forced.evaluation().verdict(), HasSubstr("by --force"));
}

TEST_F(GateTest, EveryLookAtTheSameDecisionsAsksForMore) {
  Prepare({}, 3000);
  options_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(const auto first, Train(options_));
  ASSERT_OK_AND_ASSIGN(const auto second, Train(options_));
  EXPECT_EQ(first.evaluation().look(), 1);
  EXPECT_EQ(second.evaluation().look(), 2);
  const auto& once = first.evaluation().improvement();
  const auto& twice = second.evaluation().improvement();
  EXPECT_EQ(once.value(), twice.value());
  EXPECT_LT(twice.lower(), once.lower());
  EXPECT_GT(twice.upper(), once.upper());
  EXPECT_DOUBLE_EQ(once.confidence(), 1 - 0.05 * ShareOfLook(1));
  EXPECT_DOUBLE_EQ(twice.confidence(), 1 - 0.05 * ShareOfLook(2));
  EXPECT_THAT(FormatReport(second), HasSubstr("improvement: look 2 at"));
  // The decisions of another version have not been looked at.
  options_.set_dry_run(false);
  ASSERT_OK_AND_ASSIGN(const auto published, Train(options_));
  ASSERT_EQ(published.version(), 2);
  EXPECT_EQ(published.evaluation().look(), 3);
  SyntheticLog newest;
  newest.version = 2;
  std::vector<log::v1::BanditTuple> tuples;
  for (int i = 0; i < 400; ++i) {
    tuples.push_back(MakeTuple(newest, absl::StrCat("new", i)));
  }
  WriteSegment(dir_.Sub("tuples"), 1, tuples);
  ASSERT_OK_AND_ASSIGN(const auto next, Train(options_));
  EXPECT_EQ(next.evaluation().look(), 1);
}

TEST_F(GateTest, ALookThatCannotBeNotedIsNotTaken) {
  Prepare({}, 4000);
  // Nobody can write to this ledger.
  std::filesystem::create_directories(dir_.Sub("models") +
                                      "/default/looks.jsonl");
  EXPECT_FALSE(Train(options_).ok());
  options_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_TRUE(report.validation_promises());
  EXPECT_FALSE(report.test_looked_at());
  EXPECT_FALSE(report.evaluation().has_improvement());
  EXPECT_THAT(report.evaluation().verdict(),
              HasSubstr("this look could not be noted in the store"));
}

TEST_F(GateTest, WhatIsNeededIsUnitsWhereDecisionsHaveThem) {
  config::v1::TrainReport report;
  auto* evaluation = report.mutable_evaluation();
  evaluation->set_test_tuples(1600);
  evaluation->set_test_units(16);
  evaluation->mutable_improvement()->set_value(0.1);
  evaluation->mutable_improvement()->set_lower(-0.1);
  evaluation->set_decisions_needed(6450);
  const TupleCounts counts;
  // 16 of 1600, as 64.5 of 6450.
  EXPECT_THAT(Verdict({options_, 1, counts, report}),
              HasSubstr("some 65 units in the test part, and there are 16"));
}

TEST_F(GateTest, TheGateComparesWithTheNewestVersionOnly) {
  Prepare({}, 4000);
  ASSERT_OK_AND_ASSIGN(const auto first, Train(options_));
  ASSERT_EQ(first.version(), 2);
  // Version 1 logged everything: the reward of version 2 is not known.
  EXPECT_THAT(Train(options_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("of version 2, 0 to validate, 0 to test")));
  options_.set_force(true);
  ASSERT_OK_AND_ASSIGN(const auto forced, Train(options_));
  EXPECT_FALSE(forced.gate_passed());
  EXPECT_EQ(forced.version(), 3);
  EXPECT_GT(forced.evaluation().test_tuples(), 800);
  EXPECT_THAT(forced.evaluation().verdict(),
              HasSubstr("too few tuples of version 2"));
}

TEST_F(GateTest, OlderVersionsTrainAndTheNewestTests) {
  Prepare({}, 1000);
  // A second version logs too, and all its tuples are rewarded.
  ASSERT_OK(store_.Publish(LoggingModel({}), nullptr, {}));
  SyntheticLog newest;
  newest.version = 2;
  std::vector<log::v1::BanditTuple> tuples;
  for (int i = 0; i < 400; ++i) {
    tuples.push_back(MakeTuple(newest, absl::StrCat("new", i)));
    tuples.back().set_reward(1);
  }
  WriteSegment(dir_.Sub("tuples"), 1, tuples);
  options_.set_force(true);  // Nothing is better than 1.
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  const auto& evaluation = report.evaluation();
  EXPECT_EQ(evaluation.logging_reward().value(), 1);
  EXPECT_FALSE(report.gate_passed());
  EXPECT_EQ(report.parent_version(), 2);
  // Binomial(400, 1/4) tuples, deviation 8.7, are for testing; all those of
  // version 1 are for training.
  EXPECT_NEAR(static_cast<double>(evaluation.test_tuples()), 100, 44);
  EXPECT_EQ(evaluation.train_tuples() + evaluation.validation_tuples() +
                evaluation.test_tuples(),
            1400);
  EXPECT_GT(evaluation.train_tuples(), 1100);
}

TEST_F(GateTest, TheNewestVersionSaysWhetherToAbstain) {
  // Version 1 could abstain, version 2 cannot.
  Prepare({}, 1000);
  SyntheticLog newest;
  newest.version = 2;
  newest.can_abstain = false;
  ASSERT_OK(store_.Publish(LoggingModel(newest), nullptr, {}));
  std::vector<log::v1::BanditTuple> tuples;
  for (int i = 0; i < 1000; ++i) {
    tuples.push_back(MakeTuple(newest, absl::StrCat("new", i)));
  }
  WriteSegment(dir_.Sub("tuples"), 1, tuples);
  options_.set_force(true);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store_.Load("default", 3));
  EXPECT_FALSE(stored.model.policy().softmax_selection().has_abstain_score());
  // The parent is of the same family: a point, and a second start.
  EXPECT_EQ(report.evaluation().grid_size(), 3);
  // The abstentions of version 1 are nothing that version 3 could do, and no
  // sign of wrong propensities.
  EXPECT_GT(report.excluded().at(ReasonText(LeftOutReason::kAbstained)), 50);
  const auto& overlap = report.evaluation().train_overlap();
  EXPECT_NEAR(overlap.uniform_mean_weight(), 1,
              5 * overlap.uniform_mean_weight_error());
}

TEST_F(GateTest, TheGateLooksAtTheTestPartOnly) {
  // In the test part all rewards are inverted: what looks better in training
  // and validation is worse there.
  Prepare({}, 0);
  std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 4000);
  Moments test_rewards;
  uint64_t validation = 0;
  for (auto& tuple : tuples) {
    const double split = UnitInterval(
        StableHash(HashDomain::kSplit, {tuple.decision().decision_id()}));
    if (split >= 0.25) {
      if (split < 0.5) ++validation;
      continue;
    }
    tuple.set_reward(1 - tuple.reward());
    test_rewards.Add(tuple.reward());
  }
  WriteSegment(dir_.Sub("tuples"), 1, tuples);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  const auto& evaluation = report.evaluation();
  EXPECT_EQ(evaluation.test_tuples(), test_rewards.count());
  EXPECT_EQ(evaluation.validation_tuples(), validation);
  EXPECT_NEAR(evaluation.logging_reward().value(), test_rewards.mean(), 1e-12);
  EXPECT_LT(evaluation.improvement().value(), -0.05);
  EXPECT_FALSE(report.gate_passed());
  EXPECT_FALSE(report.has_version());
  for (const auto& point : evaluation.grid()) {
    if (point.epochs() == 0) continue;  // The parent.
    EXPECT_GT(point.validation_lower(), 0);
  }
}

TEST_F(GateTest, ValidationIsAskedBeforeTheTestPart) {
  // In the validation part all rewards are inverted.
  Prepare({}, 0);
  std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 3000);
  for (auto& tuple : tuples) {
    const double split = UnitInterval(
        StableHash(HashDomain::kSplit, {tuple.decision().decision_id()}));
    if (split >= 0.25 && split < 0.5) tuple.set_reward(1 - tuple.reward());
  }
  WriteSegment(dir_.Sub("tuples"), 1, tuples);
  const LookLedger ledger(dir_.Sub("models"), "default");
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_FALSE(report.gate_passed());
  EXPECT_FALSE(report.test_looked_at());
  EXPECT_TRUE(report.keeps_parent());
  EXPECT_FALSE(report.evaluation().has_improvement());
  EXPECT_EQ(report.evaluation().look(), 0);
  EXPECT_GT(report.evaluation().test_tuples(), 600);
  EXPECT_THAT(
      report.evaluation().verdict(),
      HasSubstr("Not published: nothing that was trained validates better"));
  EXPECT_THAT(FormatReport(report), HasSubstr("test part was not looked at"));
  EXPECT_EQ(ledger.NextNumber(1).value_or(0), 1);
  // What is published by force is not published blindly.
  options_.set_force(true);
  ASSERT_OK_AND_ASSIGN(const auto forced, Train(options_));
  EXPECT_TRUE(forced.test_looked_at());
  EXPECT_TRUE(forced.evaluation().has_improvement());
}

// What other systems log is never of the newest version.
TEST_F(GateTest, ALogOfAnotherSystemIsTrainedOnAgain) {
  SyntheticLog log;
  log.version = 0;
  WriteSegment(dir_.Sub("tuples"), 0, MakeTuples(log, 3000));
  options_.set_tuples(dir_.Sub("tuples"));
  options_.set_model_store(dir_.Sub("models"));
  options_.mutable_poem()->add_lambda(0.5);
  options_.mutable_poem()->add_l2(1e-4);
  ASSERT_OK_AND_ASSIGN(const auto first, Train(options_));
  ASSERT_EQ(first.version(), 1);
  EXPECT_THAT(first.evaluation().verdict(),
              HasSubstr("No version of model 'default' is in the store"));
  std::vector<log::v1::BanditTuple> more;
  for (int i = 0; i < 3000; ++i) {
    more.push_back(MakeTuple(log, absl::StrCat("more", i)));
  }
  WriteSegment(dir_.Sub("tuples"), 1, more);
  EXPECT_THAT(Train(options_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("--baseline=log compares with what logged")));
  options_.set_baseline("log");
  // It is better than the log by far, but hardly better than version 1.
  ASSERT_OK_AND_ASSIGN(const auto second, Train(options_));
  EXPECT_GT(second.evaluation().improvement().lower(), 0);
  EXPECT_LT(second.improvement_over_newest().lower(), 0);
  EXPECT_EQ(second.improvement_over_newest().confidence(),
            second.evaluation().improvement().confidence());
  EXPECT_FALSE(second.gate_passed());
  EXPECT_EQ(second.version(), 0);
  EXPECT_EQ(second.baseline_version(), 0);
  // The decisions of the first run are looked at again.
  EXPECT_EQ(second.evaluation().look(), 2);
  EXPECT_THAT(second.evaluation().verdict(),
              HasSubstr("less per decision than version 1, which it would"));
  // Once published, the same log gives the same policy.
  options_.set_force(true);
  ASSERT_OK_AND_ASSIGN(const auto forced, Train(options_));
  EXPECT_EQ(forced.version(), 2);
  options_.set_force(false);
  ASSERT_OK_AND_ASSIGN(const auto again, Train(options_));
  EXPECT_TRUE(again.is_unchanged());
  EXPECT_FALSE(again.gate_passed());
  EXPECT_FALSE(again.has_version());
  EXPECT_FALSE(again.test_looked_at());
  EXPECT_THAT(again.evaluation().verdict(),
              HasSubstr("what was trained is version 2 again"));
  options_.set_baseline("best");
  EXPECT_THAT(
      Train(options_),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("baseline is 'best', must be serving, newest or")));
}

// To leave abstentions out of the test would condition on the action.
TEST_F(GateTest, ForceKeepsAbstentionsInTheTestPart) {
  SyntheticLog newest;
  newest.can_abstain = false;
  Prepare(newest, 0);
  ASSERT_OK(store_.Publish(LoggingModel(newest), nullptr, {}));
  // Version 1 could abstain and earned 1 by it; version 2, which cannot, has
  // not logged yet.
  std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 2000);
  Moments test_rewards;
  uint64_t abstained_in_training = 0;
  for (auto& tuple : tuples) {
    const bool abstained = tuple.decision().action(0) == kAbstain;
    if (abstained) tuple.set_reward(1);
    const double split = UnitInterval(
        StableHash(HashDomain::kSplit, {tuple.decision().decision_id()}));
    if (split < 0.25) test_rewards.Add(tuple.reward());
    if (split >= 0.5 && abstained) ++abstained_in_training;
  }
  WriteSegment(dir_.Sub("tuples"), 1, tuples);
  options_.set_force(true);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  const auto& evaluation = report.evaluation();
  EXPECT_EQ(evaluation.test_tuples(), test_rewards.count());
  EXPECT_NEAR(evaluation.logging_reward().value(), test_rewards.mean(), 1e-12);
  EXPECT_EQ(report.excluded().at(ReasonText(LeftOutReason::kAbstained)),
            abstained_in_training);
  // The uniform policy cannot abstain either: its weights still add up.
  const auto& overlap = evaluation.test_overlap();
  EXPECT_NEAR(overlap.uniform_mean_weight(), 1,
              5 * overlap.uniform_mean_weight_error());
}

TEST_F(GateTest, WhatWasShownInsteadEarnsForTheLoggingPolicyOnly) {
  // Rewards are coin flips, but for half of the failures the front end shows
  // something else, which earns 1.
  SyntheticLog noise;
  noise.rewards_are_noise = true;
  Prepare(noise, 0);
  std::vector<log::v1::BanditTuple> tuples = MakeTuples(noise, 2000);
  uint64_t mended = 0;
  for (size_t i = 0; i < tuples.size(); i += 2) {
    if (tuples[i].reward() == 1) continue;
    tuples[i].set_reward(1);
    tuples[i].mutable_shown()->add_shown(
        tuples[i].decision().action(0) == 0 ? 1 : 0);
    ++mended;
  }
  WriteSegment(dir_.Sub("tuples"), 1, tuples);
  options_.set_test_fraction(0.7);
  options_.set_validation_fraction(0.1);
  options_.set_overrides("as_shown");
  options_.set_force(true);  // No policy promises anything.
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_EQ(report.shown_otherwise(), mended);
  EXPECT_TRUE(report.excluded().empty());
  // With the front end the mean reward is 3/4 (deviation 0.012 for 1400
  // tuples). Among tuples whose action was shown it is 2/3, which any policy
  // would seem to earn. The actions themselves are known to earn 1/2.
  EXPECT_NEAR(report.evaluation().logging_reward().value(), 0.75, 0.04);
  EXPECT_NEAR(report.evaluation().ips_reward().value(), 0.5, 0.06);
  EXPECT_THAT(FormatReport(report),
              HasSubstr("something else than the action was shown: weight 0"));
}

}  // namespace
}  // namespace sortition
