#include "trainer/gate.h"

#include <functional>

#include "absl/time/time.h"
#include "core/base/hash.h"
#include "core/choices/baseline_choice.h"
#include "core/counterfactual/evaluation/improvement.h"
#include "core/counterfactual/moments.h"
#include "io/files.h"
#include "io/models/look_ledger.h"
#include "io/models/serving_state.h"
#include "tests/trainer/offpolicy/train_fixture.h"
#include "trainer/commands.h"
#include "trainer/offpolicy/learnable.h"
#include "trainer/offpolicy/look_schedule.h"
#include "trainer/report.h"
#include "trainer/train.h"
#include "trainer/tuples/scan/left_out.h"
#include "trainer/tuples/scan/present_rate.h"

namespace sortition {
namespace {

using GateTest = TrainFixture;

TEST_F(GateTest, GateKeepsNoiseOutAndForceOverrides) {
  SyntheticLog log{.rewards_are_noise = true};
  Prepare(log, 2000);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_FALSE(report.gate_passed());
  EXPECT_FALSE(report.has_version());
  EXPECT_FALSE(report.evaluation().promoted());
  EXPECT_THAT(report.evaluation().verdict(), HasSubstr("Not published"));
  EXPECT_THAT(store_.ListVersions("default"),
              testing::Property(&absl::StatusOr<std::vector<uint64_t>>::value,
                                ElementsAre(1)));
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
  const LookLedger ledger(dir_.Sub("models"), "default");
  EXPECT_EQ(*ledger.NextNumber(1), 4);
  EXPECT_EQ(*ledger.NextNumber(2), 1);
}

// The look had 1,000 or so test tuples; the next one takes half as many that
// are new. To train again with fewer costs nothing.
TEST_F(GateTest, WithoutEnoughThatIsNewTheTestPartIsNotLookedAtAgain) {
  options_.clear_look_now();
  Prepare({}, 4000);
  options_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(const auto first, Train(options_));
  ASSERT_TRUE(first.test_looked_at());
  const uint64_t had = first.evaluation().test_tuples();
  const LookLedger ledger(dir_.Sub("models"), "default");
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto again, Train(options_));
    EXPECT_TRUE(again.validation_promises());
    EXPECT_FALSE(again.test_looked_at());
    EXPECT_FALSE(again.gate_passed());
    EXPECT_EQ(again.deferred_look().look(), 1);
    EXPECT_EQ(again.deferred_look().new_tuples(), 0);
    EXPECT_EQ(again.deferred_look().needed_tuples(), (had + 1) / 2);
    EXPECT_THAT(again.evaluation().verdict(),
                HasTexts("the test part was not looked at",
                         absl::StrCat("It has ", had, " tuples, of which 0 "),
                         "newer than look 1", "--look_now looks at once"));
  }
  EXPECT_EQ(*ledger.NextNumber(1), 2);
  WriteSegment(dir_.Sub("tuples"), 1, MakeTuples({}, 1000, "few"));
  ASSERT_OK_AND_ASSIGN(const auto few, Train(options_));
  EXPECT_FALSE(few.test_looked_at());
  EXPECT_GT(few.deferred_look().new_tuples(), 200);
  WriteSegment(dir_.Sub("tuples"), 2, MakeTuples({}, 1500, "more"));
  ASSERT_OK_AND_ASSIGN(const auto enough, Train(options_));
  EXPECT_EQ(enough.evaluation().look(), 2);
  EXPECT_FALSE(enough.has_deferred_look());
}

// A window of the newest decisions never grows: what is new in it counts.
TEST_F(GateTest, NewDecisionsCountWhereOldOnesAreNoLongerRead) {
  options_.clear_look_now();
  LookLedger ledger(dir_.Sub("models"), "default");
  std::filesystem::create_directories(dir_.Sub("models"));
  ASSERT_OK(ledger.Begin(1, 100));
  ASSERT_OK_AND_ASSIGN(const auto last, ledger.Last(1));
  absl::Time time;
  std::string error;
  ASSERT_TRUE(absl::ParseTime(absl::RFC3339_full, last->time(), &time, &error));
  const int64_t look_us = absl::ToUnixMicros(time);
  TupleCounts counts;
  counts.baseline_version = 1;
  counts.test_times_us.assign(51, look_us - 1000000);
  counts.test_times_us.resize(100, look_us + 1000000);  // 49 are newer.
  auto deferred = DeferLook(options_, counts, {100, 100}, {});
  ASSERT_TRUE(deferred.has_value());
  EXPECT_EQ(deferred->new_tuples(), 49);
  EXPECT_EQ(deferred->needed_tuples(), 50);
  counts.test_times_us[0] = look_us + 1000000;
  deferred = DeferLook(options_, counts, {100, 100}, {});
  EXPECT_FALSE(deferred.has_value());
  // A look at another version says nothing of this one, and a person may ask.
  counts.test_times_us.assign(100, look_us - 1000000);
  options_.set_look_now(true);
  deferred = DeferLook(options_, counts, {100, 100}, {});
  EXPECT_FALSE(deferred.has_value());
  options_.set_look_now(false);
  counts.baseline_version = 2;
  deferred = DeferLook(options_, counts, {100, 100}, {});
  EXPECT_FALSE(deferred.has_value());
}

// The bound of 400 validation tuples is 0.3 below the estimate, 0.1, at 97.5 %.
// The first look has the share 6/π² of 2.5 %: ln(0.0152) / ln(0.025) = 1.135.
// Of the distance 0.8 counts: (0.24 / 0.1)² · 1.135 · 400 = 2615 tuples.
TEST_F(GateTest, AScheduleLooksWhenTheValidationPartSaysThatItWouldPass) {
  options_.clear_look_now();
  options_.set_look_when_likely(true);
  TupleCounts counts;
  model::v1::Estimate improvement;
  improvement.set_value(0.1);
  improvement.set_lower(-0.2);
  auto deferred = DeferLook(options_, counts, {400, 400}, improvement);
  ASSERT_TRUE(deferred.has_value());
  EXPECT_NEAR(static_cast<double>(deferred->likely_tuples()), 2615, 10);
  deferred = DeferLook(options_, counts, {400, 2640}, improvement);
  EXPECT_FALSE(deferred.has_value());
  // 10 of 400 validation tuples are effective: 4000 test tuples have 100.
  deferred = DeferLook(options_, counts, {400, 3999, 10}, improvement);
  ASSERT_TRUE(deferred.has_value());
  EXPECT_EQ(deferred->likely_tuples(), 4000);
  deferred = DeferLook(options_, counts, {400, 4000, 10}, improvement);
  EXPECT_FALSE(deferred.has_value());
  options_.set_look_when_likely(false);
  deferred = DeferLook(options_, counts, {400, 400}, improvement);
  EXPECT_FALSE(deferred.has_value());
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

TEST_F(GateTest, WhatIsNeededIsSaidWithItsRangeAndTheRateOfNewUsers) {
  config::v1::TrainReport report;
  auto* evaluation = report.mutable_evaluation();
  evaluation->set_test_tuples(1600);
  evaluation->set_test_units(160);
  evaluation->mutable_improvement()->set_value(0.1);
  evaluation->mutable_improvement()->set_lower(-0.1);
  evaluation->set_decisions_needed(6450);
  auto* forecast = report.mutable_forecast();
  forecast->set_by_units(true);
  forecast->set_so_far(640);
  forecast->set_improvement(0.1);
  forecast->set_standard_error(0.05);
  forecast->set_needed(2600);
  forecast->set_needed_least(1200);
  forecast->set_needed_most(11000);
  TupleCounts counts;
  counts.arrivals = {.decisions = 6400,
                     .units = 640,
                     .recent_decisions = 3000,
                     .recent_units = 100,
                     .recent_seconds = 86400,
                     .newest_us = 1'000'000};
  TupleGate gate{options_, 1, counts, report};
  gate.now_us = 2'000'000;
  EXPECT_TRUE(NeedsMoreData(gate));
  // 1,960 more at 100 a day take 19.6 days.
  EXPECT_THAT(
      Verdict(gate),
      HasSubstr("not enough data yet: if the improvement is 0.1, as estimated "
                "(standard error 0.05), about 2600 users are needed (1200 to "
                "11000), and the log has 640, at the present rate of about 100 "
                "new users a day in about 20 days."));
  // The estimate may be luck.
  forecast->clear_needed_most();
  EXPECT_THAT(Verdict(gate), HasSubstr("(1200 or more: the estimate is within "
                                       "one standard error of 0"));
  // If the estimate is right, no data would prove it.
  evaluation->set_decisions_needed(0);
  report.clear_forecast();
  EXPECT_FALSE(NeedsMoreData(gate));
  EXPECT_THAT(Verdict(gate), HasSubstr("no number of decisions would prove"));
}

// Nothing that 40 decisions teach passes the gate: whether nothing better was
// found, or something that looks better is not proved, the log is too small.
TEST_F(GateTest, TooFewDecisionsAreNotEnoughDataYet) {
  Prepare({}, 40);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_FALSE(report.gate_passed());
  EXPECT_TRUE(report.needs_more_data());
  EXPECT_THAT(report.evaluation().verdict(),
              HasSubstr("not enough data yet: "));
  EXPECT_EQ(
      RunTrainer({"train", "--tuples=" + options_.tuples(),
                  "--model_store=" + options_.model_store(), "--look_now"}),
      kExitNotYet);
}

// The text of a log in which nothing better was found and that is too small.
TEST_F(GateTest, SaysHowManyDecisionsWouldShowALargeImprovement) {
  config::v1::TrainReport report;
  report.set_test_looked_at(false);
  report.set_needs_more_data(true);
  report.set_units_to_double(1100);
  report.set_improvement_to_show(0.2);
  auto* evaluation = report.mutable_evaluation();
  evaluation->set_train_tuples(3);
  evaluation->set_validation_tuples(2);
  evaluation->set_test_tuples(2);
  TupleCounts counts;
  counts.arrivals = {.decisions = 7, .units = 7};
  const TupleGate gate{options_, 1, counts, report};
  EXPECT_TRUE(NeedsMoreData(gate));
  EXPECT_THAT(
      Verdict(gate),
      HasSubstr("Not published: not enough data yet: 7 decisions; about "
                "1100 are needed to show an improvement of 0.2 per "
                "decision"));
}

TEST(DurationTextTest, IsRoundedUpInAUnitThatPeopleUse) {
  EXPECT_EQ(DurationText(0.2), "1 second");
  EXPECT_EQ(DurationText(119), "119 seconds");
  EXPECT_EQ(DurationText(120), "2 minutes");
  EXPECT_EQ(DurationText(3600 * 2.5), "3 hours");
  EXPECT_EQ(DurationText(86400 * 40.2), "41 days");
}

TEST_F(GateTest, TheGateComparesWithTheNewestVersionOnly) {
  Prepare({}, 4000);
  ASSERT_OK_AND_ASSIGN(const auto first, Train(options_));
  ASSERT_EQ(first.version(), 2);
  // Version 1 logged everything: the reward of version 2 is not known.
  EXPECT_THAT(Train(options_),
              IsFailedPrecondition("of version 2, 0 to validate, 0 to test"));
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
  auto tuples = MakeTuples({.version = 2}, 400, "new");
  for (auto& tuple : tuples) tuple.set_reward(1);
  Prepare(tuples, LoggingModel({}));
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
  PrepareSecond({.can_abstain = false, .version = 2}, 1000);
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
  Prepare(tuples, LoggingModel({}));
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
  std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 3000);
  for (auto& tuple : tuples) {
    const double split = UnitInterval(
        StableHash(HashDomain::kSplit, {tuple.decision().decision_id()}));
    if (split >= 0.25 && split < 0.5) tuple.set_reward(1 - tuple.reward());
  }
  Prepare(tuples, LoggingModel({}));
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

// Without its probabilities, the version that serves may be better.
TEST_F(GateTest, AVersionThatCannotBeComparedIsNotReplaced) {
  SyntheticLog log{.action_kind = ActionKind::kRank, .version = 0};
  WriteSegment(dir_.Sub("tuples"), 0, MakeTuples(log, 3000));
  log.sorted.emplace();
  ASSERT_OK(store_.Publish(LoggingModel(log), nullptr, {}));
  options_.set_baseline("log");
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_GT(report.evaluation().improvement().lower(), 0);
  EXPECT_FALSE(report.has_improvement_over_newest());
  EXPECT_FALSE(report.gate_passed());
  EXPECT_THAT(report.evaluation().verdict(),
              HasTexts("Not published: it is better than the policy that "
                       "logged, but cannot be compared with version 1, which "
                       "it would replace: its kind of policy is not one"));
}

// To train with --baseline=serving is no advice where that was asked for.
TEST_F(GateTest, WhatToDoAboutAMissingComparisonDependsOnTheBaseline) {
  config::v1::TrainReport report;
  report.set_test_looked_at(true);
  report.set_why_not_compared("it is of another kind");
  auto* improvement = report.mutable_evaluation()->mutable_improvement();
  improvement->set_value(0.2);
  improvement->set_lower(0.1);
  TupleCounts counts;
  counts.evaluates_baseline = true;
  const auto verdict = [&](const char* baseline) {
    options_.set_baseline(baseline);
    return Verdict({options_, 1, counts, report});
  };
  EXPECT_THAT(verdict("log"),
              HasTexts("cannot be compared", "--baseline=serving", "--force"));
  for (const char* baseline : {"serving", "newest"}) {
    EXPECT_THAT(verdict(baseline), HasTexts("cannot be compared", "--force"));
    EXPECT_THAT(verdict(baseline), Not(HasSubstr("--baseline")));
  }
}

// What other systems log is never of the newest version.
TEST_F(GateTest, ALogOfAnotherSystemIsTrainedOnAgain) {
  SyntheticLog log{.version = 0};
  WriteSegment(dir_.Sub("tuples"), 0, MakeTuples(log, 3000));
  ASSERT_OK_AND_ASSIGN(const auto first, Train(options_));
  ASSERT_EQ(first.version(), 1);
  EXPECT_THAT(first.evaluation().verdict(),
              HasSubstr("No version of model 'default' is in the store"));
  WriteSegment(dir_.Sub("tuples"), 1, MakeTuples(log, 3000, "more"));
  EXPECT_THAT(Train(options_),
              IsFailedPrecondition("--baseline=log compares with what logged"));
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
      IsInvalidArgument("baseline is 'best', must be serving, newest or"));
}

// To leave abstentions out of the test would condition on the action.
TEST_F(GateTest, ForceKeepsAbstentionsInTheTestPart) {
  SyntheticLog newest{.can_abstain = false};
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
  Prepare(tuples, LoggingModel(newest));
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
  SyntheticLog noise{.rewards_are_noise = true};
  std::vector<log::v1::BanditTuple> tuples = MakeTuples(noise, 2000);
  uint64_t mended = 0;
  for (size_t i = 0; i < tuples.size(); i += 2) {
    if (tuples[i].reward() == 1) continue;
    tuples[i].set_reward(1);
    tuples[i].mutable_shown()->add_shown(
        tuples[i].decision().action(0) == 0 ? 1 : 0);
    ++mended;
  }
  Prepare(tuples, LoggingModel(noise));
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

// What `train` compares with where a version is pinned, or where the caller's
// baseline had a part in what was logged.

class ServingBaselineTest : public TrainFixture {
 protected:
  void Pin(uint64_t version) {
    ASSERT_OK(ChangeServing(dir_ / "models/default", {"test", ""},
                            [&](model::v1::Serving* serving) {
                              serving->set_pinned_version(version);
                              return absl::OkStatus();
                            }));
  }
  static bool Finds(const config::v1::TrainReport& report,
                    const std::string& kind) {
    for (const auto& finding : report.evaluation().findings()) {
      if (finding.kind() == kind) return true;
    }
    return false;
  }
};

TEST_F(ServingBaselineTest, TheVersionThatServesIsTheBaseline) {
  Prepare({}, 3000);
  PrepareSecond({.version = 2}, 1000);
  options_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(auto report, Train(options_));
  EXPECT_EQ(report.baseline_version(), 2u);
  Pin(1);
  ASSERT_OK_AND_ASSIGN(report, Train(options_));
  EXPECT_EQ(report.baseline_version(), 1u);
  // A quarter of 3000 and of 1000: deviations are 24 and 14.
  EXPECT_GT(report.evaluation().test_tuples(), 600u);
  options_.set_baseline("newest");
  ASSERT_OK_AND_ASSIGN(report, Train(options_));
  EXPECT_EQ(report.baseline_version(), 2u);
  EXPECT_LT(report.evaluation().test_tuples(), 400u);
  options_.set_baseline("pinned");
  EXPECT_THAT(Train(options_),
              IsInvalidArgument("must be serving, newest or log"));
}

TEST_F(ServingBaselineTest, PublishingBesideAPinSaysThatItDoesNotServe) {
  Prepare({}, 4000);
  Pin(1);
  options_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(auto report, Train(options_));
  EXPECT_THAT(report.evaluation().verdict(), Not(HasSubstr("pinned")));
  options_.set_dry_run(false);
  ASSERT_OK_AND_ASSIGN(report, Train(options_));
  EXPECT_EQ(report.version(), 2u);
  EXPECT_THAT(report.evaluation().verdict(),
              HasTexts("Published", "Version 1 is pinned and goes on to serve",
                       "sortition models unpin --model=default"));
}

TEST_F(ServingBaselineTest, AStateThatCannotBeReadEndsTheRun) {
  Prepare({}, 100);
  ASSERT_OK(WriteFile(dir_ / "models/default/SERVING.textproto", "oops"));
  EXPECT_THAT(Train(options_).status().message(),
              HasSubstr("SERVING.textproto"));
}

// Makes the tuples those of EXPLORE_ABOVE_BASELINE: with probability 1/2 the
// first candidate, otherwise what the model chose.
void ExploreAboveFirst(std::vector<log::v1::BanditTuple>* tuples) {
  const model::v1::Model model = LoggingModel({});
  const LinearPolicy policy = *LinearPolicy::Create(model);
  PolicyWorkspace workspace;
  RandomSequence random(SeedKey(1));
  for (auto& tuple : *tuples) {
    log::v1::Decision& decision = *tuple.mutable_decision();
    log::v1::BaselineChoice& baseline = *decision.mutable_baseline();
    baseline.set_mode(model::v1::EXPLORE_ABOVE_BASELINE);
    baseline.set_model_probability(0.5);
    baseline.add_action(0);
    baseline.set_model_decided(random.Uniform() < 0.5);
    if (!baseline.model_decided()) {
      decision.set_action(0, 0);
      tuple.set_reward(random.Uniform() < RewardProbability(decision) ? 1 : 0);
    }
    const int32_t action = decision.action(0);
    baseline.set_model_log_propensity(
        policy.LogPropensity(QueryOf(decision), {&action, 1}, &workspace));
    decision.set_log_propensity(
        LogAboveBaseline(0.5, baseline.model_log_propensity(), action == 0));
  }
}

// Their mean reward is not that of version 1: the gate compares with both.
TEST_F(ServingBaselineTest, WhatLoggedWithABaselineIsNotCalledTheVersion) {
  const SyntheticLog log;
  auto tuples = MakeTuples(log, 4000);
  ExploreAboveFirst(&tuples);
  Prepare(tuples, LoggingModel(log));
  options_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  ASSERT_TRUE(report.test_looked_at());
  EXPECT_EQ(report.baseline_version(), 1u);
  EXPECT_TRUE(report.has_improvement_over_newest());
  EXPECT_THAT(report.evaluation().verdict(),
              HasTexts("what logged, in which the caller's baseline had "
                       "a part",
                       "It earns no less than version 1, which it "
                       "replaces, either."));
  EXPECT_FALSE(Finds(report, "certain_baseline"));
}

TEST_F(ServingBaselineTest, NothingIsLearnedFromACertainBaseline) {
  const SyntheticLog log;
  auto tuples = MakeTuples(log, 2000);
  for (auto& tuple : tuples) {
    log::v1::Decision& decision = *tuple.mutable_decision();
    decision.mutable_baseline()->set_mode(model::v1::APPRENTICE);
    *decision.mutable_baseline()->mutable_action() = decision.action();
    decision.mutable_baseline()->set_model_log_propensity(
        decision.log_propensity());
    decision.set_log_propensity(0);
  }
  Prepare(tuples, LoggingModel(log));
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_FALSE(report.gate_passed());
  EXPECT_FALSE(report.has_version());
  EXPECT_TRUE(Finds(report, "certain_baseline"));
  EXPECT_THAT(FormatReport(report),
              HasTexts("2000 of version 1, baseline of the caller, "
                       "which gave some actions probability 0",
                       "no policy can be shown to be better"));
}

// Logs that have too little to learn from, and what is said about them.

class LearnableTest : public TrainFixture {
 protected:
  // Appends `count` decisions of a unit of the training part, or of one that
  // judges.
  void AddUnit(bool trains, int count) {
    std::string unit;
    do {
      unit = absl::StrCat("u", num_units_++);
    } while ((UnitInterval(StableHash(HashDomain::kSplit, {unit})) >= 0.5) !=
             trains);
    for (int i = 0; i < count; ++i) {
      tuples_.push_back(MakeTuple({}, absl::StrCat("d", tuples_.size())));
      tuples_.back().mutable_decision()->set_unit_id(unit);
    }
  }

  absl::Status TrainStatus() {
    Prepare(tuples_, LoggingModel({}));
    options_.set_dry_run(true);
    return Train(options_).status();
  }

  int num_units_ = 0;
  std::vector<log::v1::BanditTuple> tuples_;
};

TEST_F(LearnableTest, NothingInTheTimesThatAreAskedFor) {
  AddUnit(true, 3);
  options_.set_since("2026-11-01");
  EXPECT_THAT(TrainStatus(),
              IsFailedPrecondition("(3 tuples read, 3 left out: before "
                                   "since, or not before until; since = "
                                   "'2026-11-01', until = '')"));
}

TEST_F(LearnableTest, OneUnitCountsAsOneDecision) {
  AddUnit(true, 47);
  for (int i = 0; i < 40; ++i) AddUnit(false, 1);
  EXPECT_THAT(TrainStatus(),
              IsFailedPrecondition("the 47 tuples to train count as 1, must"));
}

// 94 times 1/47 is not quite 2.
TEST_F(LearnableTest, TwoUnitsAreEnough) {
  AddUnit(true, 47);
  AddUnit(true, 47);
  for (int i = 0; i < 40; ++i) AddUnit(false, 1);
  EXPECT_OK(TrainStatus());
}

TEST_F(LearnableTest, AShortDecayLeavesTooLittle) {
  tuples_ = MakeTuples({}, 400);
  for (size_t i = 0; i < tuples_.size(); ++i) {
    tuples_[i].mutable_decision()->set_time_us(static_cast<int64_t>(1 + i) *
                                               3600 * 1000000);
  }
  options_.set_decay("5m");
  EXPECT_THAT(TrainStatus(), IsFailedPrecondition("decay is short"));
}

// Neither --force nor --baseline=log would help.
TEST_F(LearnableTest, WithoutTimesNothingIsOlder) {
  tuples_ = MakeTuples({}, 400);
  options_.set_parts("time");
  const absl::Status status = TrainStatus();
  EXPECT_THAT(status, IsFailedPrecondition("not enough data yet: 0 tuples to"));
  EXPECT_THAT(status, IsFailedPrecondition("parts must be unit_hash"));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               Not(HasSubstr("--force"))));
}

// How many decisions the gate asks for.

TEST(DecisionsNeededTest, AreThoseWithWhichTheBoundPasses) {
  // Each of four kinds of decisions comes equally often: ρ r - r is 1, 0.3, 0
  // and -1 for the rewards 1, 1, 0, 1. The mean is 0.075, whatever the size.
  const auto evaluate = [](size_t n) {
    std::vector<double> rewards;
    std::vector<double> log_weights;
    std::vector<uint64_t> units;
    for (size_t i = 0; i < n; ++i) {
      rewards.push_back(i % 4 == 2 ? 0 : 1);
      log_weights.push_back(i % 4 == 0   ? std::log(2)
                            : i % 4 == 1 ? std::log(1.3)
                            : i % 4 == 2 ? std::log(0.7)
                                         : -HUGE_VAL);
      units.push_back(UnitKey("", absl::StrCat(i)));
    }
    const Interval improvement = EstimateImprovement(
        {.rewards = rewards, .log_weights = log_weights, .units = units}, 0.95);
    model::v1::Evaluation evaluation;
    evaluation.set_test_tuples(n);
    evaluation.mutable_improvement()->set_value(improvement.value);
    evaluation.mutable_improvement()->set_lower(improvement.lower);
    evaluation.mutable_improvement()->set_confidence(0.95);
    return evaluation;
  };
  const uint64_t needed = DecisionsNeeded(evaluate(400), 0.95);
  EXPECT_GT(needed, 400);
  EXPECT_LT(evaluate(needed / 6 * 4).improvement().lower(), 0);
  EXPECT_GT(evaluate(needed / 2 * 4).improvement().lower(), 0);
  EXPECT_EQ(DecisionsNeeded(evaluate(needed / 2 * 4), 0.95), 0);
  // The next look has a quarter of the share of the first, so that its distance
  // is √(ln(4 / α) / ln(1 / α)) times as long.
  model::v1::Evaluation looked;
  looked.set_look(1);
  looked.set_test_tuples(1000);
  looked.mutable_improvement()->set_value(0.1);
  looked.mutable_improvement()->set_lower(-0.1);
  looked.mutable_improvement()->set_confidence(1 - 0.05 * ShareOfLook(1));
  const double alpha = 0.025 * ShareOfLook(1);
  EXPECT_NEAR(static_cast<double>(DecisionsNeeded(looked, 0.95)),
              4000 * std::log(4 / alpha) / std::log(1 / alpha), 1);
  // No number of decisions proves what is not there.
  looked.mutable_improvement()->set_value(-0.01);
  EXPECT_EQ(DecisionsNeeded(looked, 0.95), 0);
}

}  // namespace
}  // namespace sortition
