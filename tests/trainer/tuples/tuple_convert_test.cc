#include "trainer/tuples/tuple_convert.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/trainer/synthetic_tuples.h"

namespace sortition {
namespace {

using enum LeftOutReason;
using testing::ElementsAre;

TEST(ConvertTupleTest, KeepsEligibleRowsAndRenumbersTheAction) {
  log::v1::BanditTuple logged;
  logged.set_reward(3);
  log::v1::Decision* decision = logged.mutable_decision();
  decision->set_action_kind(log::v1::RANK);
  decision->set_num_candidates(4);
  decision->set_num_features(2);
  for (const bool eligible : {false, true, true, false}) {
    decision->add_eligible(eligible);
  }
  for (int value = 0; value < 8; ++value) {
    decision->add_dense_values(static_cast<float>(value));
  }
  decision->add_action(2);
  decision->add_action(1);
  decision->set_log_propensity(-0.5);
  const TupleExpectation expectation{.action_kind = ActionKind::kRank,
                                     .num_features = 2,
                                     .rewards = {.min = -1, .max = 7}};
  BanditTuple tuple;
  const auto reason = ConvertTuple(logged, expectation, &tuple);
  EXPECT_EQ(reason, std::nullopt);
  EXPECT_THAT(tuple.values, ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(tuple.action, ElementsAre(1, 0));
  EXPECT_EQ(tuple.loss, -0.5);  // (-1 - 3) / (7 + 1)
  EXPECT_EQ(tuple.log_propensity, -0.5);

  decision->set_action(0, 3);  // Not eligible.
  const auto not_eligible = ConvertTuple(logged, expectation, &tuple);
  EXPECT_EQ(not_eligible, kBadAction);
}

TEST(ConvertTupleTest, KeepsTheRewardOfWhatWasShownInPlaceOfTheAction) {
  log::v1::BanditTuple logged = MakeTuple({}, "d0");
  logged.set_reward(1);
  logged.mutable_decision()->set_action(0, 3);
  const TupleExpectation expectation{.action_kind = ActionKind::kSelect,
                                     .num_features = 5,
                                     .overrides = Overrides::kAsShown};
  BanditTuple tuple;
  ASSERT_EQ(ConvertTuple(logged, expectation, &tuple), std::nullopt);
  EXPECT_TRUE(tuple.action_shown);  // No record of what was shown.
  logged.mutable_shown()->add_shown(3);
  ASSERT_EQ(ConvertTuple(logged, expectation, &tuple), std::nullopt);
  EXPECT_TRUE(tuple.action_shown);
  logged.mutable_shown()->set_shown(0, 2);
  auto reason = ConvertTuple(logged, expectation, &tuple);
  EXPECT_EQ(reason, std::nullopt);
  EXPECT_FALSE(tuple.action_shown);
  EXPECT_EQ(tuple.loss, -1);
  logged.mutable_shown()->clear_shown();
  logged.mutable_shown()->set_not_shown(true);
  ASSERT_EQ(ConvertTuple(logged, expectation, &tuple), std::nullopt);
  EXPECT_FALSE(tuple.action_shown);
  logged.mutable_shown()->set_not_shown(false);
  ASSERT_EQ(ConvertTuple(logged, expectation, &tuple), std::nullopt);
  EXPECT_FALSE(tuple.action_shown);  // An empty list: nothing was shown.
  // To show nothing is what an abstention asks for.
  logged.mutable_decision()->set_action(0, kAbstain);
  reason = ConvertTuple(logged, expectation, &tuple);
  EXPECT_EQ(reason, std::nullopt);
  EXPECT_TRUE(tuple.action_shown);
  // Showing something does not.
  logged.mutable_shown()->clear_not_shown();
  logged.mutable_shown()->add_shown(2);
  ASSERT_EQ(ConvertTuple(logged, expectation, &tuple), std::nullopt);
  EXPECT_FALSE(tuple.action_shown);
}

TEST(ConvertTupleTest, KeepsSparseRowsSparse) {
  log::v1::BanditTuple logged;
  log::v1::Decision* decision = logged.mutable_decision();
  decision->set_action_kind(log::v1::SELECT);
  decision->set_num_candidates(3);
  decision->set_num_features(9);
  for (const bool eligible : {true, false, true}) {
    decision->add_eligible(eligible);
  }
  auto* sparse = decision->mutable_sparse();
  for (const uint32_t offset : {0, 2, 3, 4}) sparse->add_row_offsets(offset);
  for (const uint32_t column : {1, 8, 0, 5}) sparse->add_columns(column);
  for (const float value : {1.f, 2.f, 3.f, 4.f}) sparse->add_values(value);
  decision->add_action(2);
  const TupleExpectation expectation{.action_kind = ActionKind::kSelect,
                                     .num_features = 9};
  BanditTuple tuple;
  const auto reason = ConvertTuple(logged, expectation, &tuple);
  EXPECT_EQ(reason, std::nullopt);
  EXPECT_THAT(tuple.row_offsets, ElementsAre(0, 2, 3));
  EXPECT_THAT(tuple.columns, ElementsAre(1, 8, 5));
  EXPECT_THAT(tuple.values, ElementsAre(1, 2, 4));
  EXPECT_THAT(tuple.action, ElementsAre(1));
}

}  // namespace
}  // namespace sortition
