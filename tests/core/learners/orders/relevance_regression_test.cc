#include "core/learners/orders/relevance_regression.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/random_queries.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode::kInvalidArgument;
using ::testing::HasSubstr;

// Relevance is exactly 1 + 2 x0 - x1, over two queries.
TEST(RelevanceRegressionTest, FindsAPlantedPlane) {
  TestQueries queries;
  queries.Add({0, 0, 1, 0, 1, 1}, {1, 3, 2});
  queries.Add({2, 1, 0, 1}, {4, 0});
  ASSERT_OK_AND_ASSIGN(const RegressionResult result,
                       FitRelevance(queries.views(), 0));
  EXPECT_NEAR(result.weights[0], 2, 1e-12);
  EXPECT_NEAR(result.weights[1], -1, 1e-12);
  EXPECT_NEAR(result.intercept, 1, 1e-12);
}

// The intercept is free. One feature has mean 2 and centred sum of squares 2;
// its centred products with the relevances (0, 1, 5) sum to 5: w = 5 / (2 +
// l2), and b = 2 - 2 w.
TEST(RelevanceRegressionTest, PenaltyShrinksWeightsAndNotTheIntercept) {
  TestQueries queries;
  queries.Add({1, 2, 3}, {0, 1, 5});
  ASSERT_OK_AND_ASSIGN(const RegressionResult result,
                       FitRelevance(queries.views(), 3));
  EXPECT_NEAR(result.weights[0], 1, 1e-12);
  EXPECT_NEAR(result.intercept, 0, 1e-12);
}

// More columns than are solved directly use conjugate gradients, which need the
// columns' squares.
TEST(RelevanceRegressionTest, ManyColumnsGiveTheSameAsFew) {
  RandomSequence random(SeedKey(1));
  TestQueries few, many;
  for (int query = 0; query < 40; ++query) {
    std::vector<float> narrow, wide;
    std::vector<uint32_t> relevances;
    for (int i = 0; i < 10; ++i) {
      for (int j = 0; j < 5; ++j) {
        narrow.push_back(static_cast<float>(random.Normal()));
        wide.push_back(narrow.back());
      }
      wide.resize(wide.size() + 295);  // Zeros.
      relevances.push_back(static_cast<uint32_t>(random.Below(3)));
    }
    few.Add(narrow, relevances);
    many.Add(wide, relevances);
  }
  ASSERT_OK_AND_ASSIGN(const RegressionResult direct,
                       FitRelevance(few.views(), 1));
  ASSERT_OK_AND_ASSIGN(const RegressionResult iterated,
                       FitRelevance(many.views(), 1));
  for (int j = 0; j < 5; ++j) {
    EXPECT_NEAR(direct.weights[j], iterated.weights[j], 1e-8);
  }
  EXPECT_NEAR(direct.intercept, iterated.intercept, 1e-8);
}

TEST(RelevanceRegressionTest, RefusesBadOptionsAndNoData) {
  EXPECT_THAT(FitRelevance({}, 1),
              StatusIs(kInvalidArgument, HasSubstr("0 queries")));
  const TestQueries queries = RandomQueries({}, 1);
  EXPECT_THAT(FitRelevance(queries.views(), -1),
              StatusIs(kInvalidArgument, HasSubstr("l2 is -1")));
}

}  // namespace
}  // namespace sortition
