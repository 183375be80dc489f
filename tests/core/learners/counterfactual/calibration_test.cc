#include "core/learners/counterfactual/calibration.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode::kInvalidArgument;
using testing::ElementsAre;

// One feature, weight 1: the features are the scores.
BanditTuple Query(const std::vector<float>& scores) {
  BanditTuple tuple;
  tuple.values = scores;
  tuple.num_features = 1;
  tuple.action = {0};
  return tuple;
}

// A softmax selection whose abstain score is 0.
model::v1::Model Model(double mixture = 0) {
  model::v1::Model model;
  model.add_weights(1);
  model.mutable_policy()->set_inverse_temperature(1);
  model.mutable_policy()->set_uniform_mixture(mixture);
  model.mutable_policy()->mutable_softmax_selection()->set_abstain_score(0);
  return model;
}

ScoredQueries Queries(const std::vector<BanditTuple>& tuples) {
  return *ScoredQueries::Create(Model(), {tuples});
}

double RateAt(const ScoredQueries& queries, model::v1::Policy policy,
              double alpha) {
  policy.set_inverse_temperature(alpha);
  return MeasureShape(queries, policy)->abstention_rate;
}

TEST(MapPredictionTest, TakesTheBestOrNone) {
  const auto queries = Queries(
      {Query({-1, 2, 1}), Query({-1, -2}), Query({-3, 0}), Query({1, 3, 3})});
  EXPECT_THAT(MapPrediction(ActionKind::kSelect, queries[0]), ElementsAre(1));
  EXPECT_THAT(MapPrediction(ActionKind::kSelect, queries[1]),
              ElementsAre(kAbstain));
  // A candidate as good as abstaining is answered. Among equal ones the first
  // is.
  EXPECT_THAT(MapPrediction(ActionKind::kSelect, queries[2]), ElementsAre(1));
  EXPECT_THAT(MapPrediction(ActionKind::kSelect, queries[3]), ElementsAre(1));
  EXPECT_EQ(MapAbstentionRate(queries), 0.25);
  ScoredCandidates order = queries[0];
  order.top_k = 2;
  EXPECT_THAT(MapPrediction(ActionKind::kRank, order), ElementsAre(1, 2));
}

// Scores log 2 and log 1 beside abstaining, log 1: p = 1/2, 1/4, 1/4.
TEST(MeasureShapeTest, NumbersByHand) {
  const auto queries = Queries({Query({std::log(2.0f), 0})});
  ASSERT_OK_AND_ASSIGN(PolicyShape shape,
                       MeasureShape(queries, Model().policy()));
  EXPECT_NEAR(shape.abstention_rate, 0.25, 1e-7);
  EXPECT_NEAR(shape.map_probability, 0.5, 1e-7);
  EXPECT_NEAR(shape.entropy, 1.5 * std::log(2), 1e-7);
  // Mixed half with uniform: 5/12, 7/24, 7/24.
  ASSERT_OK_AND_ASSIGN(shape, MeasureShape(queries, Model(0.5).policy()));
  EXPECT_NEAR(shape.abstention_rate, 7 / 24.0, 1e-7);
  EXPECT_NEAR(shape.map_probability, 5 / 12.0, 1e-7);
  // α = 2 squares the odds: 4 : 1 : 1.
  EXPECT_NEAR(RateAt(queries, Model().policy(), 2), 1 / 6.0, 1e-7);
}

// With z = exp(-α): the first query (one candidate, -1) abstains with
// 1 / (1 + z), the second (two candidates, 1/2) with √z / (√z + 2). MAP
// abstains in the first: the sum must be 1,
//   √z / (√z + 2) = z / (1 + z)  <=>  √z = 1/2  <=>  α = log 4.
TEST(CalibrateTest, FindsTheTemperatureOfTwoQueries) {
  const auto queries = Queries({Query({-1}), Query({0.5, 0.5})});
  ASSERT_OK_AND_ASSIGN(
      const Calibration calibration,
      CalibrateInverseTemperature(queries, Model().policy(), {}));
  EXPECT_TRUE(calibration.exact);
  EXPECT_NEAR(calibration.inverse_temperature, std::log(4), 1e-11);
  EXPECT_THAT(calibration.roots, ElementsAre(calibration.inverse_temperature));
  EXPECT_EQ(calibration.map_abstention_rate, 0.5);
  EXPECT_NEAR(calibration.abstention_rate, 0.5, 1e-12);
}

// Two candidates of -1 each, then two of 1: 1 / (1 + 2z) + z / (z + 2) is below
// 1 for all z > 0; it lacks 3z / ((2z + 1)(z + 2)) = 0.02 where
// 0.04 z² - 2.9 z + 0.04 = 0.
TEST(CalibrateTest, TakesWhatIsNearEnoughWhereTheRateIsOnlyApproached) {
  const auto queries = Queries({Query({-1, -1}), Query({1, 1})});
  const double z = (2.9 - std::sqrt(2.9 * 2.9 - 4 * 0.04 * 0.04)) / 0.08;
  ASSERT_OK_AND_ASSIGN(
      Calibration calibration,
      CalibrateInverseTemperature(queries, Model().policy(), {}));
  EXPECT_FALSE(calibration.exact);
  EXPECT_TRUE(calibration.roots.empty());
  EXPECT_NEAR(calibration.inverse_temperature, -std::log(z), 1e-9);
  EXPECT_NEAR(calibration.abstention_rate, 0.49, 1e-10);
  // A rate that is near enough leaves the policy as it is.
  model::v1::Policy sharp = Model().policy();
  sharp.set_inverse_temperature(7);
  ASSERT_OK_AND_ASSIGN(calibration,
                       CalibrateInverseTemperature(queries, sharp, {}));
  EXPECT_EQ(calibration.inverse_temperature, 7);
}

TEST(CalibrateTest, OutOfReachNamesTheRates) {
  // The rate is nearly uniform, 1/3; MAP's is 1/2; with a mixture of 0.3 it is
  // at most 0.7 · 1/2 + 0.3 · 1/3 = 0.45.
  const auto queries = Queries({Query({-1, -1}), Query({1, 1})});
  EXPECT_THAT(
      CalibrateInverseTemperature(queries, Model(0.3).policy(), {}),
      IsFailedPrecondition("in a share of 0.5 (tolerance 0.01)",
                           "it abstains in [0.3333, 0.45]",
                           "nearly uniform (alpha = 0.001) in 0.3333",
                           "nearly deterministic (alpha = 1000) in 0.45"));
}

// Two answered queries (one candidate, 3) make the rate fall, one that abstains
// (-1) makes it rise, and a third that is answered (20 candidates, 0.3) finally
// brings it above its limit. It is above at α → 0, below at 1, above at 5.
TEST(CalibrateTest, OfSeveralRootsTheNearestToThePresent) {
  const auto queries = Queries({Query({3}), Query({3}), Query({-1}),
                                Query(std::vector<float>(20, 0.3f))});
  model::v1::Policy policy = Model().policy();
  EXPECT_GT(RateAt(queries, policy, 0.01), 0.25);
  EXPECT_LT(RateAt(queries, policy, 1), 0.25);
  EXPECT_GT(RateAt(queries, policy, 5), 0.25);
  ASSERT_OK_AND_ASSIGN(Calibration calibration,
                       CalibrateInverseTemperature(queries, policy, {}));
  ASSERT_EQ(calibration.roots.size(), 2);
  for (const double root : calibration.roots) {
    EXPECT_NEAR(RateAt(queries, policy, root), 0.25, 1e-10);
  }
  EXPECT_LT(calibration.roots[0], 1);
  EXPECT_GT(calibration.roots[1], 1);
  EXPECT_EQ(calibration.inverse_temperature, calibration.roots[0]);
  policy.set_inverse_temperature(3);
  ASSERT_OK_AND_ASSIGN(calibration,
                       CalibrateInverseTemperature(queries, policy, {}));
  EXPECT_EQ(calibration.inverse_temperature, calibration.roots[1]);
}

TEST(CalibrateTest, ALawThatHoldsAtEveryTemperatureChangesNothing) {
  // σ(-α) + σ(α) = 1 for every α.
  const auto queries = Queries({Query({-1}), Query({1})});
  ASSERT_OK_AND_ASSIGN(
      const Calibration calibration,
      CalibrateInverseTemperature(queries, Model().policy(), {}));
  EXPECT_EQ(calibration.inverse_temperature, 1);
  EXPECT_NEAR(calibration.abstention_rate, 0.5, 1e-12);
}

TEST(CalibrateTest, BadInputIsNamed) {
  const auto queries = Queries({Query({-1})});
  model::v1::Policy policy = Model().policy();
  EXPECT_THAT(CalibrateInverseTemperature(queries, policy, {.alpha_min = 0}),
              IsInvalidArgument("alpha_min is 0"));
  EXPECT_THAT(CalibrateInverseTemperature(queries, policy,
                                          {.alpha_min = 2, .alpha_max = 2}),
              IsInvalidArgument("must ascend"));
  EXPECT_THAT(
      CalibrateInverseTemperature(queries, policy, {.tolerance = std::nan("")}),
      IsInvalidArgument("tolerance is nan"));
  policy.set_uniform_mixture(2);
  EXPECT_THAT(CalibrateInverseTemperature(queries, policy, {}),
              StatusIs(kInvalidArgument));
  policy.set_uniform_mixture(0);
  policy.mutable_softmax_selection()->clear_abstain_score();
  EXPECT_THAT(CalibrateInverseTemperature(queries, policy, {}),
              IsInvalidArgument("cannot abstain"));
  EXPECT_THAT(ScoredQueries::Create(Model(), {}),
              IsInvalidArgument("there is none"));
  BanditTuple two_features = Query({1, 2});
  two_features.num_features = 2;
  const std::vector<BanditTuple> tuples = {Query({1}), two_features};
  EXPECT_THAT(ScoredQueries::Create(Model(), {tuples}),
              IsInvalidArgument("tuple 1 has 2 features, must"));
}

}  // namespace
}  // namespace sortition
