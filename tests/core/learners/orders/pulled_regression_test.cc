#include "core/learners/orders/pulled_regression.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/trusted_testing.h"

namespace sortition {
namespace {

using testing::HasSubstr;

// Without l2 a feature that is the same everywhere cannot be distinguished from
// the intercept. With more columns than are solved directly there is no proof.
TEST(PulledRegressionTest, SaysWhatIsProved) {
  const TestQueries queries =
      RandomQueries({.num_queries = 15, .max_relevance = 2}, 8);
  const TrustedOrders trusted =
      TrustedOf(queries, RandomOrders(queries, 8), TrustedKinds()[0]);
  ASSERT_OK_AND_ASSIGN(PulledRegressionResult result,
                       FitPulledRelevance(queries.views(), 0, {&trusted, 5}));
  EXPECT_TRUE(result.is_proved);
  EXPECT_LE(result.gap(), kPulledRegressionGap * result.objective);
  EXPECT_GE(result.gap(), -1e-9);
  const TestQueries wide =
      RandomQueries({.num_queries = 40, .num_features = 300}, 8);
  const TrustedOrders of_wide =
      TrustedOf(wide, RandomOrders(wide, 8), TrustedKinds()[0]);
  ASSERT_OK_AND_ASSIGN(result,
                       FitPulledRelevance(wide.views(), 1, {&of_wide, 5}));
  EXPECT_FALSE(result.is_proved);
  EXPECT_LE(result.gap(), kPulledRegressionGap * result.objective);
  EXPECT_THAT(FitPulledRelevance(wide.views(), -1, {&of_wide, 5}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("l2 is -1, must be finite")));
  EXPECT_THAT(FitPulledRelevance(wide.views(), 1, {&of_wide, NAN}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("weight is nan, must be finite")));
}

// One query of scores w (0, 1) + b, relevances 0 and 1, order 0 before 1. The
// least squares are 0 at w = 1, b = 0. Pairs that contradict the order cost,
// with Top(2, 1), c max(0, w). So w - 1 = e with errors shared by b: e²/2 + c
// (1 + e) is least at e = -c, J = c - c²/2, until w = 0 for c >= 1, where J =
// 1/2.
TEST(PulledRegressionTest, SolvesAPairByHand) {
  TestQueries queries;
  queries.Add({0, 1}, {0, 1});
  const TrustedOrders trusted =
      TrustedOf(queries, {{0, 1}}, {config::v1::OrderDivergence::TOP, 1});
  for (const double c : {0.0, 0.25, 0.75, 1.0, 20.0}) {
    ASSERT_OK_AND_ASSIGN(const PulledRegressionResult result,
                         FitPulledRelevance(queries.views(), 0, {&trusted, c}));
    const double w = std::max(0.0, 1 - c);
    const double least = c < 1 ? c - c * c / 2 : 0.5;
    EXPECT_NEAR(result.objective, least, 2e-5 * least + 1e-9);
    EXPECT_NEAR(result.weights[0], w, 0.01);
    EXPECT_LE(result.dual_bound, least + 1e-12);
    EXPECT_LT(result.iterations, kMostPulledIterations);
  }
}

// All relevances are the same: the intercept alone fits them, J = 0, and the
// search ends.
TEST(PulledRegressionTest, EndsWhereTheObjectiveIs0) {
  TestQueries queries;
  queries.Add({0.3F, 1, 0.7F}, {3, 3, 3});
  const TrustedOrders trusted =
      TrustedOf(queries, {{0, 2, 1}}, TrustedKinds()[0]);
  ASSERT_OK_AND_ASSIGN(const PulledRegressionResult result,
                       FitPulledRelevance(queries.views(), 1, {&trusted, 1}));
  EXPECT_NEAR(result.objective, 0, 1e-9);
  EXPECT_NEAR(result.intercept, 3, 1e-4);
  EXPECT_LT(result.iterations, 200);
}

}  // namespace
}  // namespace sortition
