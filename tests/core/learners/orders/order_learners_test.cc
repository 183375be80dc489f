#include "core/learners/orders/order_learners.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/learners/orders/list_net.h"
#include "core/learners/orders/rank_svm.h"
#include "core/learners/orders/relevance_regression.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/learner_testing.h"
#include "tests/testing/random_queries.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::ListNetOptions;
using config::v1::RankSvmOptions;
using config::v1::RegressionOptions;
using testing::HasSubstr;

TestQueries SomeQueries(uint64_t seed) {
  return RandomQueries(
      {.num_queries = 30, .num_features = 3, .max_relevance = 2}, seed);
}

template <typename Options>
using Factory = absl::StatusOr<std::unique_ptr<LabelledLearner>> (*)(
    const Options& options, const LabelledShape& shape);

template <typename Options>
absl::StatusOr<LabelledResult> Train(Factory<Options> make,
                                     const Options& options) {
  const TestQueries training = SomeQueries(1);
  const TestQueries validation = SomeQueries(2);
  const auto learner = make(options, kShape);
  if (!learner.ok()) return learner.status();
  size_t steps = 0;
  LabelledTask task{.training = training.views(),
                    .validation = validation.views()};
  task.on_step = [&](size_t) { ++steps; };
  auto result = (*learner)->Train(task);
  EXPECT_GT(steps, 0);
  EXPECT_LE(steps, (*learner)->most_steps() * (*learner)->num_points());
  if (result.ok()) {
    EXPECT_EQ(result->points.size(), (*learner)->num_points());
  }
  return result;
}

// The chosen point is what the core function learns at its λ.
TEST(OrderLearnersTest, AreTheirCoreFunctionsAtTheChosenLambda) {
  const TestQueries queries = SomeQueries(1);
  {
    RankSvmOptions options;
    options.set_weighting(RankSvmOptions::QUERIES);
    ASSERT_OK_AND_ASSIGN(const LabelledResult result,
                         Train(&MakeRankSvmLearner, options));
    ASSERT_EQ(result.points.size(), 13);
    EXPECT_DOUBLE_EQ(result.points[0].lambda, 64. / 30);
    const LabelledPoint& point = result.points[result.chosen];
    const auto alone = TrainRankSvm(queries.views(), point.lambda, options);
    EXPECT_EQ(result.weights, alone->weights);
    EXPECT_EQ(point.objective, alone->descent.objective);
    EXPECT_EQ(point.dual_bound, alone->descent.dual_bound);
  }
  {
    ListNetOptions options;
    options.set_target(ListNetOptions::GAIN);
    ASSERT_OK_AND_ASSIGN(const LabelledResult result,
                         Train(&MakeListNetLearner, options));
    const LabelledPoint& point = result.points[result.chosen];
    const auto alone = TrainListNet(queries.views(), point.lambda, options);
    EXPECT_EQ(result.weights, alone->weights);
    EXPECT_EQ(point.objective, alone->descent.value);
    EXPECT_FALSE(point.dual_bound.has_value());
  }
}

TEST(OrderLearnersTest, RegressionReportsTheObjectiveThatItMinimises) {
  const TestQueries queries = SomeQueries(1);
  RegressionOptions options;
  options.add_l2(0);
  options.add_l2(5);
  ASSERT_OK_AND_ASSIGN(const LabelledResult result,
                       Train(&MakeRegressionLearner, options));
  for (const LabelledPoint& point : result.points) {
    const auto alone = FitRelevance(queries.views(), point.lambda);
    double objective = 0;
    for (const double w : alone->weights) objective += point.lambda * w * w;
    for (const LabelledItems& query : queries.views()) {
      for (uint32_t i = 0; i < query.relevances.size(); ++i) {
        const double error = query.items.Score(i, alone->weights) +
                             alone->intercept - query.relevances[i];
        objective += error * error;
      }
    }
    EXPECT_NEAR(point.objective, objective, 1e-9 * objective);
  }
  EXPECT_EQ(result.points[0].lambda, 5);
  EXPECT_GT(result.points[0].objective, result.points[1].objective);
  const auto chosen =
      FitRelevance(queries.views(), result.points[result.chosen].lambda);
  EXPECT_EQ(result.weights, chosen->weights);
}

TEST(OrderLearnersTest, RankAndSelectButDoNotLabel) {
  for (const auto& learner :
       {MakeRankSvmLearner(RankSvmOptions(), kShape),
        MakeListNetLearner(ListNetOptions(), kShape),
        MakeRegressionLearner(RegressionOptions(), kShape)}) {
    ASSERT_OK(learner);
    EXPECT_EQ((*learner)->measure().Name(), "graded DCG@10");
    EXPECT_EQ((*learner)->validation_name(), "graded DCG@10, deterministic");
    EXPECT_TRUE((*learner)->MakePolicy({})->has_plackett_luce());
    EXPECT_TRUE((*learner)
                    ->MakePolicy({.action_kind = ActionKind::kSelect})
                    ->has_softmax_selection());
    EXPECT_THAT((*learner)->MakePolicy({.action_kind = ActionKind::kSubset}),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

TEST(OrderLearnersTest, BadOptionsAreNamed) {
  const auto error = [](auto make, const auto& options) {
    const auto learner = make(options, kShape);
    EXPECT_EQ(learner.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(learner.status().message());
  };
  RankSvmOptions rank_svm;
  rank_svm.add_lambda(0);
  EXPECT_THAT(error(&MakeRankSvmLearner, rank_svm),
              HasSubstr("rank_svm.lambda is 0, must be above 0"));
  rank_svm.clear_lambda();
  rank_svm.set_gap_tolerance(2);
  EXPECT_THAT(error(&MakeRankSvmLearner, rank_svm),
              HasSubstr("rank_svm.gap_tolerance is 2, must be above 0"));
  ListNetOptions list_net;
  list_net.add_lambda(-1);
  EXPECT_THAT(error(&MakeListNetLearner, list_net),
              HasSubstr("list_net.lambda is -1, must be above 0"));
  RegressionOptions regression;
  regression.add_l2(-1);
  EXPECT_THAT(error(&MakeRegressionLearner, regression),
              HasSubstr("regression.l2 is -1, must be finite"));
}

}  // namespace
}  // namespace sortition
