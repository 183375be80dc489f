#include "core/learners/orders/list_net.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/central_differences.h"
#include "tests/testing/random_queries.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode::kInvalidArgument;
using config::v1::ListNetOptions;
using ::testing::HasSubstr;

TEST(ListNetTest, GradientMatchesDifferences) {
  RandomSequence random(SeedKey(1));
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const TestQueries queries = RandomQueries({.max_relevance = 3}, seed);
    const ListNetObjective objective(
        queries.views(), 0.1,
        seed % 2 == 0 ? ListNetOptions::GAIN : ListNetOptions::RELEVANCE);
    const Eigen::VectorXd point =
        Eigen::VectorXd::NullaryExpr(3, [&] { return random.Normal(); });
    Eigen::VectorXd gradient;
    objective.Evaluate(point, &gradient);
    EXPECT_LT(
        (gradient - CentralDifferences(objective, point)).cwiseAbs().maxCoeff(),
        1e-8);
  }
}

// At w = 0, p = 1/n for any P.
TEST(ListNetTest, ValueAtZeroIsTheMeanLogOfTheSizes) {
  TestQueries queries;
  queries.Add({1, 2, 3, 4}, {2, 0, 1, 0});
  queries.Add({1, 2}, {0, 1});
  queries.Add({5, 5, 5}, {1, 1, 1});  // Is left out.
  const ListNetObjective objective(queries.views(), 1, ListNetOptions::GAIN);
  EXPECT_EQ(objective.num_queries(), 2u);
  EXPECT_NEAR(objective.Evaluate(Eigen::VectorXd::Zero(1), nullptr),
              (std::log(4) + std::log(2)) / 2, 1e-15);
}

// One query of two, relevances 2 and 0, x = 1 and 0: P_1 = σ(2), so w = 2
// without a penalty; with gains σ(3) and w = 3.
TEST(ListNetTest, ScoresBecomeTheTargetsWhereTheyCan) {
  TestQueries queries;
  queries.Add({1, 0}, {2, 0});
  ListNetOptions options;
  options.mutable_lbfgs()->set_gradient_tolerance(1e-10);
  options.mutable_lbfgs()->set_decrease_tolerance(0);
  ASSERT_OK_AND_ASSIGN(ListNetResult result,
                       TrainListNet(queries.views(), 1e-9, options));
  EXPECT_NEAR(result.weights[0], 2, 1e-5);
  options.set_target(ListNetOptions::GAIN);
  ASSERT_OK_AND_ASSIGN(result, TrainListNet(queries.views(), 1e-9, options));
  EXPECT_NEAR(result.weights[0], 3, 1e-5);
}

TEST(ListNetTest, FindsAPlantedDirection) {
  const TestQueries queries = RandomQueries(
      {.num_queries = 200, .most_items = 20, .max_relevance = 3, .noise = 0},
      7);
  ListNetOptions options;
  options.set_target(ListNetOptions::GAIN);
  ASSERT_OK_AND_ASSIGN(const ListNetResult result,
                       TrainListNet(queries.views(), 1e-6, options));
  // The planted weights are (1, -1/2, 1).
  const std::vector<double>& w = result.weights;
  EXPECT_NEAR(w[1] / w[0], -0.5, 0.1);
  EXPECT_NEAR(w[2] / w[0], 1, 0.1);
  EXPECT_GT(w[0], 1);
}

TEST(ListNetTest, RefusesWhatItCannotLearnFrom) {
  TestQueries equal;
  equal.Add({1, 2}, {1, 1});
  EXPECT_THAT(TrainListNet(equal.views(), 1, {}),
              StatusIs(kInvalidArgument, HasSubstr("none of 1 queries")));
  TestQueries high;
  high.Add({1, 2}, {1, 32});
  EXPECT_THAT(TrainListNet(high.views(), 1, {}),
              StatusIs(kInvalidArgument, HasSubstr("relevances[1] is 32")));
  EXPECT_THAT(TrainListNet(equal.views(), NAN, {}),
              StatusIs(kInvalidArgument, HasSubstr("lambda is nan")));
}

}  // namespace
}  // namespace sortition
