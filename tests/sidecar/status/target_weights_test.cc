#include "sidecar/status/target_weights.h"

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// A decision of version 7 of model "m".
log::v1::Decision ChoiceOf(double propensity) {
  log::v1::Decision choice;
  choice.set_model("m");
  choice.set_version(7);
  choice.set_action_kind(log::v1::SELECT);
  choice.set_log_propensity(std::log(propensity));
  return choice;
}

void AddView(const std::string& model, uint64_t version, double propensity,
             log::v1::BanditTuple* tuple) {
  log::v1::ShadowView& view = *tuple->add_shadow_views();
  view.set_model(model);
  view.set_version(version);
  view.set_log_propensity(std::log(propensity));
}

// Gives version `version` the places from `begin` to `end`.
void AddArm(uint64_t version, uint32_t begin, uint32_t end,
            log::v1::ArmChoice* choice) {
  model::v1::SplitArm& arm = *choice->mutable_split()->add_arms();
  arm.set_version(version);
  model::v1::PlaceRange& range = *arm.add_ranges();
  range.set_begin(begin);
  range.set_end(end);
}

// By version.
std::map<uint64_t, double> WeightsOf(const log::v1::BanditTuple& tuple,
                                     const log::v1::Decision& choice) {
  VersionWeights weights = {{99, 1}};  // Of an earlier use.
  TargetWeights(tuple, choice, &weights);
  const std::map<uint64_t, double> by_version(weights.begin(), weights.end());
  EXPECT_EQ(by_version.size(), weights.size());
  return by_version;
}

auto Weight(uint64_t version, double weight) {
  return Pair(version, DoubleNear(weight, 1e-12));
}

TEST(TargetWeightsTest, AVersionThatDecidedAloneHasWeightOne) {
  EXPECT_THAT(WeightsOf({}, ChoiceOf(0.25)), ElementsAre(Weight(7, 1)));
}

TEST(TargetWeightsTest, ShadowsOfTheModelAreKnown) {
  log::v1::BanditTuple tuple;
  AddView("m", 8, 0.5, &tuple);
  AddView("m", 9, 0, &tuple);
  AddView("another", 10, 0.5, &tuple);
  EXPECT_THAT(WeightsOf(tuple, ChoiceOf(0.25)),
              ElementsAre(Weight(7, 1), Weight(8, 2), Weight(9, 0)));
}

TEST(TargetWeightsTest, WithABaselineTheModelMustHaveBeenAsked) {
  log::v1::Decision choice = ChoiceOf(0.5);
  choice.mutable_baseline()->set_mode(model::v1::APPRENTICE);
  EXPECT_THAT(WeightsOf({}, choice), IsEmpty());
  // Mode SHADOW: it says later what it thinks.
  log::v1::BanditTuple tuple;
  AddView("m", 7, 0.1, &tuple);
  EXPECT_THAT(WeightsOf(tuple, choice), ElementsAre(Weight(7, 0.2)));
  choice.mutable_baseline()->set_model_log_propensity(std::log(0.25));
  EXPECT_THAT(WeightsOf({}, choice), ElementsAre(Weight(7, 0.5)));
}

TEST(TargetWeightsTest, OfInterleavedOrdersNoVersionIsKnown) {
  log::v1::Decision choice = ChoiceOf(0.5);
  choice.mutable_interleaving()->set_other_version(8);
  EXPECT_THAT(WeightsOf({}, choice), IsEmpty());
}

TEST(TargetWeightsTest, OfThreeArmsOnlyTheOneThatDecided) {
  log::v1::Decision choice = ChoiceOf(0.5);
  log::v1::ArmChoice& arm = *choice.mutable_arm();
  arm.set_probability(0.2);
  arm.set_primary_version(6);
  AddArm(7, 0, 2000, &arm);
  AddArm(8, 2000, 4000, &arm);
  arm.set_mixture_log_propensity(std::log(0.25));
  EXPECT_THAT(WeightsOf({}, choice), ElementsAre(Weight(7, 2)));
}

TEST(TargetWeightsTest, WithoutAMixtureTheArmItselfIsKnown) {
  log::v1::Decision choice = ChoiceOf(0.5);
  choice.mutable_arm()->set_probability(0.2);
  choice.mutable_arm()->set_primary_version(6);
  AddArm(7, 0, 2000, choice.mutable_arm());
  EXPECT_THAT(WeightsOf({}, choice), ElementsAre(Weight(7, 1)));
}

TEST(TargetWeightsTest, WhatCannotBeHasNoWeight) {
  EXPECT_THAT(WeightsOf({}, ChoiceOf(0)), IsEmpty());
  log::v1::Decision choice = ChoiceOf(0.5);
  choice.set_log_propensity(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(WeightsOf({}, choice), IsEmpty());
}

// Over everything that can happen, whichever arm decides, the weights of each
// version have the mean 1, and rewards times weights the mean reward of the
// version alone: that is what importance weights are.
TEST(TargetWeightsTest, TwoArmsJudgeEachOtherWithoutBias) {
  const std::vector<double> primary = {0.5, 0.3, 0.2};
  const std::vector<double> arm = {0.1, 0.1, 0.8};
  const std::vector<double> rewards = {1, 0.25, 0};
  const double share = 0.3;  // Of the arm.
  double weight_of_arm = 0;
  double weight_of_primary = 0;
  double reward_of_arm = 0;
  for (size_t action = 0; action < rewards.size(); ++action) {
    for (const bool is_arm : {false, true}) {
      const double p = is_arm ? arm[action] : primary[action];
      const double q = is_arm ? share : 1 - share;
      log::v1::Decision choice = ChoiceOf(p);
      choice.set_version(is_arm ? 9 : 7);
      log::v1::ArmChoice& made = *choice.mutable_arm();
      made.set_probability(q);
      made.set_primary_version(7);
      AddArm(9, 0, 3000, &made);
      made.set_mixture_log_propensity(
          std::log(share * arm[action] + (1 - share) * primary[action]));
      const auto weights = WeightsOf({}, choice);
      ASSERT_EQ(weights.size(), 2u);
      weight_of_arm += q * p * weights.at(9);
      weight_of_primary += q * p * weights.at(7);
      reward_of_arm += q * p * weights.at(9) * rewards[action];
    }
  }
  EXPECT_NEAR(weight_of_arm, 1, 1e-12);
  EXPECT_NEAR(weight_of_primary, 1, 1e-12);
  EXPECT_NEAR(reward_of_arm, 0.1 * 1 + 0.1 * 0.25, 1e-12);
}

}  // namespace
}  // namespace sortition
