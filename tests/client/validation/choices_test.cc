// Checks of decisions that came by a traffic split, or that the caller's
// baseline had a part in.
#include <cmath>

#include "client/validation/decision_checks.h"
#include "client/validation/mean_weight_check.h"
#include "core/base/random.h"
#include "core/choices/baseline_choice.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using testing::HasSubstr;

// What a check says of some decisions.
template <typename Check>
std::vector<Finding> FindingsOf(
    const std::vector<log::v1::Decision>& decisions) {
  Check check;
  for (const log::v1::Decision& decision : decisions) {
    LogEntry entry;
    entry.decision = &decision;
    check.Take(entry);
  }
  return check.Report();
}

Finding Propensity(const log::v1::Decision& decision) {
  return FindingsOf<PropensityCheck>({decision})[0];
}

log::v1::Decision Selection(int32_t action, double log_propensity) {
  log::v1::Decision decision;
  decision.set_decision_id("d");
  decision.set_model("m");
  decision.set_version(7);
  decision.set_action_kind(log::v1::SELECT);
  decision.set_num_candidates(2);
  decision.mutable_policy()->mutable_softmax_selection();
  decision.add_action(action);
  decision.set_log_propensity(log_propensity);
  return decision;
}

TEST(ChoicesTest, TheBaselineSaysWhatThePropensityIs) {
  log::v1::Decision decision = Selection(0, 0);
  decision.mutable_baseline()->set_mode(model::v1::SHADOW);
  decision.mutable_baseline()->add_action(0);
  EXPECT_EQ(Propensity(decision).level, Level::kPass);
  decision.mutable_baseline()->set_log_propensity(-2);
  EXPECT_EQ(Propensity(decision).level, Level::kFail);
  EXPECT_THAT(Propensity(decision).text, HasSubstr("must be -2 by its"));
  decision.set_log_propensity(-2);
  EXPECT_EQ(Propensity(decision).level, Level::kPass);
}

TEST(ChoicesTest, AMixtureAboveABaselineIsRecomputed) {
  log::v1::Decision decision =
      Selection(1, LogAboveBaseline(0.25, std::log(0.4), false));
  log::v1::BaselineChoice& baseline = *decision.mutable_baseline();
  baseline.set_mode(model::v1::EXPLORE_ABOVE_BASELINE);
  baseline.set_model_probability(0.25);
  baseline.set_model_log_propensity(std::log(0.4));
  baseline.add_action(0);
  EXPECT_EQ(Propensity(decision).level, Level::kPass);
  baseline.set_action(0, 1);  // It would have done the same: 0.1 + 0.75.
  EXPECT_THAT(Propensity(decision).text,
              HasSubstr("log_propensity is -2.3025850929940"));
  decision.set_log_propensity(std::log(0.85));
  EXPECT_EQ(Propensity(decision).level, Level::kPass);
  baseline.set_model_probability(0);
  EXPECT_THAT(Propensity(decision).text,
              HasSubstr("baseline.model_probability is 0"));
}

TEST(ChoicesTest, AMixtureOfArmsIsAtLeastTheOwnPart) {
  log::v1::Decision decision = Selection(1, std::log(0.4));
  decision.mutable_arm()->set_probability(0.3);
  EXPECT_EQ(Propensity(decision).level, Level::kPass);  // An F-score game.
  decision.mutable_arm()->set_mixture_log_propensity(std::log(0.13));
  EXPECT_EQ(Propensity(decision).level, Level::kPass);
  decision.mutable_arm()->set_mixture_log_propensity(std::log(0.11));
  EXPECT_THAT(Propensity(decision).text,
              HasSubstr("arm.mixture_log_propensity is"));
  decision.mutable_arm()->set_mixture_log_propensity(0.5);
  EXPECT_EQ(Propensity(decision).level, Level::kFail);
  decision.mutable_arm()->set_probability(1.5);
  EXPECT_THAT(Propensity(decision).text, HasSubstr("arm.probability is 1.5"));
}

// Two arms of a half each choose the first of two with 0.9 and 0.3: together
// with 0.6. The line of the mixture is over both, and finds a wrong one.
TEST(ChoicesTest, TheMeanWeightOfASplitIsThatOfTheMixture) {
  for (const double wrong : {1.0, 0.5}) {
    std::vector<log::v1::Decision> decisions;
    RandomSequence random(SeedKey(3));
    for (int i = 0; i < 4000; ++i) {
      const bool is_first_arm = random.Uniform() < 0.5;
      const double first = is_first_arm ? 0.9 : 0.3;
      const int32_t action = random.Uniform() < first ? 0 : 1;
      log::v1::Decision& decision = decisions.emplace_back(
          Selection(action, std::log(action == 0 ? first : 1 - first)));
      decision.set_version(is_first_arm ? 7 : 8);
      decision.mutable_arm()->set_probability(0.5);
      decision.mutable_arm()->set_primary_version(8);
      decision.mutable_arm()->set_mixture_log_propensity(
          std::log(wrong * (action == 0 ? 0.6 : 0.4)));
    }
    std::vector<std::string> names;
    for (const Finding& finding : FindingsOf<MeanWeightCheck>(decisions)) {
      const bool is_mixture =
          finding.text.find("m split beside version 8 SELECT") == 0;
      names.push_back(is_mixture ? "mixture" : "version");
      EXPECT_EQ(finding.level,
                is_mixture && wrong != 1 ? Level::kFail : Level::kPass)
          << finding.text;
    }
    EXPECT_THAT(names,
                testing::UnorderedElementsAre("version", "version", "mixture"));
  }
}

TEST(ChoicesTest, WhatIsInterleavedCanBe) {
  log::v1::Decision good = Selection(1, std::log(0.4));
  good.set_action_kind(log::v1::RANK);
  log::v1::Interleaving& interleaving = *good.mutable_interleaving();
  interleaving.set_other_version(8);
  interleaving.set_method(model::v1::Interleave::TEAM_DRAFT);
  interleaving.set_probability(0.5);
  EXPECT_EQ(Propensity(good).level, Level::kPass);
  log::v1::Decision bad = good;
  bad.mutable_interleaving()->set_other_version(7);
  EXPECT_THAT(Propensity(bad).text,
              HasSubstr("interleaving.other_version is 7"));
  bad = good;
  bad.mutable_interleaving()->clear_method();
  EXPECT_THAT(Propensity(bad).text, HasSubstr("interleaving.method is 0"));
  bad = good;
  bad.mutable_interleaving()->set_probability(1.5);
  EXPECT_THAT(Propensity(bad).text,
              HasSubstr("interleaving.probability is 1.5"));
  bad = good;
  bad.set_action_kind(log::v1::SELECT);
  EXPECT_THAT(Propensity(bad).text, HasSubstr("interleaving is set, must be"));
  bad = good;
  bad.mutable_arm()->set_probability(0.5);
  EXPECT_THAT(Propensity(bad).text, HasSubstr("interleaving is set, must be"));
}

// They are certain: nothing was drawn. A caller that draws may leave actions
// no chance.
TEST(ChoicesTest, BaselinesAreNoDrawsOfTheVersion) {
  std::vector<log::v1::Decision> certain(200, Selection(0, 0));
  for (log::v1::Decision& decision : certain) {
    decision.mutable_baseline()->set_mode(model::v1::OFF);
  }
  EXPECT_EQ(FindingsOf<MeanWeightCheck>(certain)[0].text, "no draws");
  for (log::v1::Decision& decision : certain) {
    decision.mutable_baseline()->set_log_propensity(0);
  }
  EXPECT_THAT(FindingsOf<MeanWeightCheck>(certain)[0].text,
              HasSubstr("not all actions are drawn"));
}

}  // namespace
}  // namespace sortition
