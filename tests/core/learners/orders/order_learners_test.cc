#include "core/learners/orders/order_learners.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/learners/labelled/feature_scale.h"
#include "core/learners/orders/list_net.h"
#include "core/learners/orders/rank_svm.h"
#include "core/learners/orders/relevance_regression.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/learner_testing.h"
#include "tests/testing/central_differences.h"
#include "tests/testing/random_queries.h"
#include "tests/testing/refusal_table.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::ListNetOptions;
using config::v1::RankSvmOptions;
using config::v1::RegressionOptions;
using testing::HasSubstr;

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
              IsInvalidArgument("none of 1 queries"));
  TestQueries high;
  high.Add({1, 2}, {1, 32});
  EXPECT_THAT(TrainListNet(high.views(), 1, {}),
              IsInvalidArgument("relevances[1] is 32"));
  EXPECT_THAT(TrainListNet(equal.views(), NAN, {}),
              IsInvalidArgument("lambda is nan"));
}

// J pair by pair.
double BruteForce(const std::vector<LabelledItems>& queries, double lambda,
                  const RankSvmOptions& options,
                  const std::vector<double>& weights) {
  double all = 0, num_pairs = 0, by_query = 0, num_queries = 0;
  for (const LabelledItems& query : queries) {
    double sum = 0, pairs = 0;
    for (uint32_t i = 0; i < query.relevances.size(); ++i) {
      for (uint32_t j = 0; j < query.relevances.size(); ++j) {
        if (query.relevances[i] <= query.relevances[j]) continue;
        const double margin =
            query.items.Score(i, weights) - query.items.Score(j, weights);
        sum += std::max(0.0, 1 - margin);
        ++pairs;
      }
    }
    all += sum;
    num_pairs += pairs;
    if (pairs == 0) continue;
    by_query += sum / pairs;
    ++num_queries;
  }
  double norm2 = 0;
  for (const double w : weights) norm2 += w * w;
  return lambda / 2 * norm2 + (options.weighting() == RankSvmOptions::PAIRS
                                   ? all / num_pairs
                                   : by_query / num_queries);
}

std::vector<RankSvmOptions> Weightings() {
  std::vector<RankSvmOptions> options(2);
  options[1].set_weighting(RankSvmOptions::QUERIES);
  return options;
}

// A pair of difference x = (2, 0): λ/2 w² + max(0, 1 - 2 w) is least at
// w = min(2 / λ, 1/2).
TEST(RankSvmTest, SolvesAPairByHand) {
  TestQueries queries;
  queries.Add({3, 7, 1, 7}, {4, 2});
  RankSvmOptions options;
  options.set_gap_tolerance(1e-9);
  ASSERT_OK_AND_ASSIGN(RankSvmResult result,
                       TrainRankSvm(queries.views(), 8, options));
  EXPECT_EQ(result.num_pairs, 1u);
  EXPECT_NEAR(result.weights[0], 0.25, 1e-4);
  EXPECT_EQ(result.weights[1], 0);
  EXPECT_NEAR(result.descent.objective, 4 * 0.0625 + 0.5, 1e-8);
  ASSERT_OK_AND_ASSIGN(result, TrainRankSvm(queries.views(), 1, options));
  EXPECT_NEAR(result.weights[0], 0.5, 1e-4);
}

TEST(RankSvmTest, ClosesTheGapOfTheObjectivePairByPair) {
  RandomSequence random(SeedKey(3));
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const TestQueries queries = RandomQueries(
        {.num_queries = 25, .max_relevance = 3, .rounded = seed % 2 == 0},
        seed);
    for (const double lambda : {1e-4, 1e-2, 1.}) {
      for (const RankSvmOptions& options : Weightings()) {
        ASSERT_OK_AND_ASSIGN(const RankSvmResult result,
                             TrainRankSvm(queries.views(), lambda, options));
        const DescentResult& descent = result.descent;
        EXPECT_LE(descent.gap(), 1e-3 * descent.objective)
            << descent.termination;
        EXPECT_NEAR(
            BruteForce(queries.views(), lambda, options, result.weights),
            descent.objective, 1e-12);
        for (int trial = 0; trial < 20; ++trial) {
          std::vector<double> other = result.weights;
          const double scale = std::exp2(-trial);
          for (double& w : other) w += scale * random.Normal();
          EXPECT_GE(BruteForce(queries.views(), lambda, options, other),
                    descent.dual_bound);
        }
      }
    }
  }
}

// The relevance is a threshold of a linear score: with little regularisation
// every pair is ordered correctly.
TEST(RankSvmTest, FindsAPlantedOrder) {
  const TestQueries queries =
      RandomQueries({.num_queries = 30, .max_relevance = 3, .noise = 0}, 7);
  for (const RankSvmOptions& options : Weightings()) {
    ASSERT_OK_AND_ASSIGN(const RankSvmResult result,
                         TrainRankSvm(queries.views(), 1e-8, options));
    for (const LabelledItems& query : queries.views()) {
      for (uint32_t i = 0; i < query.relevances.size(); ++i) {
        for (uint32_t j = 0; j < query.relevances.size(); ++j) {
          if (query.relevances[i] <= query.relevances[j]) continue;
          EXPECT_GT(query.items.Score(i, result.weights),
                    query.items.Score(j, result.weights));
        }
      }
    }
  }
}

TEST(RankSvmTest, StopsWhereTheWatcherSaysSo) {
  const TestQueries queries = RandomQueries({.num_queries = 25}, 8);
  RankSvmOptions options;
  options.set_gap_tolerance(1e-9);
  int steps = 0;
  ASSERT_OK_AND_ASSIGN(
      const RankSvmResult result,
      TrainRankSvm(queries.views(), 1e-3, options,
                   [&](const DescentResult&) { return ++steps == 3; }));
  EXPECT_EQ(steps, 3);
  EXPECT_TRUE(result.descent.stopped);
  EXPECT_THAT(result.descent.termination, HasSubstr("stopped"));
}

TEST(RankSvmTest, RefusesWhatItCannotLearnFrom) {
  TestQueries equal;
  equal.Add({1, 2}, {1, 1});
  EXPECT_THAT(TrainRankSvm(equal.views(), 1, {}),
              IsInvalidArgument("none of 1 queries"));
  EXPECT_THAT(TrainRankSvm({}, 1, {}),
              IsInvalidArgument("there are 0 queries"));
  const TestQueries queries = RandomQueries({}, 1);
  RankSvmOptions options;
  EXPECT_THAT(TrainRankSvm(queries.views(), 0, options),
              IsInvalidArgument("lambda is 0"));
  options.set_gap_tolerance(2);
  EXPECT_THAT(TrainRankSvm(queries.views(), 1, options),
              IsInvalidArgument("gap_tolerance is 2"));
  TestQueries bad;
  bad.Add({1, NAN}, {1, 0});
  EXPECT_THAT(TrainRankSvm(bad.views(), 1, {}), IsInvalidArgument("query 0"));
}

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
  EXPECT_THAT(FitRelevance({}, 1), IsInvalidArgument("0 queries"));
  const TestQueries queries = RandomQueries({}, 1);
  EXPECT_THAT(FitRelevance(queries.views(), -1), IsInvalidArgument("l2 is -1"));
}

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
  const ScaledTask scaled(
      {.training = queries.views(), .validation = queries.views()});
  {
    RankSvmOptions options;
    options.set_weighting(RankSvmOptions::QUERIES);
    ASSERT_OK_AND_ASSIGN(const LabelledResult result,
                         Train(&MakeRankSvmLearner, options));
    ASSERT_EQ(result.points.size(), 13);
    EXPECT_DOUBLE_EQ(result.points[0].lambda, 64. / 30);
    const LabelledPoint& point = result.points[result.chosen];
    auto alone = TrainRankSvm(scaled.task().training, point.lambda, options);
    scaled.scale().ToOriginalUnits(1, alone->weights);
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
    auto alone = TrainListNet(scaled.task().training, point.lambda, options);
    scaled.scale().ToOriginalUnits(1, alone->weights);
    EXPECT_EQ(result.weights, alone->weights);
    EXPECT_EQ(point.objective, alone->descent.value);
    EXPECT_FALSE(point.dual_bound.has_value());
  }
}

TEST(OrderLearnersTest, RegressionReportsTheObjectiveThatItMinimises) {
  const TestQueries queries = SomeQueries(1);
  const ScaledTask scaled(
      {.training = queries.views(), .validation = queries.views()});
  RegressionOptions options;
  options.add_l2(0);
  options.add_l2(5);
  ASSERT_OK_AND_ASSIGN(const LabelledResult result,
                       Train(&MakeRegressionLearner, options));
  for (const LabelledPoint& point : result.points) {
    const auto alone = FitRelevance(scaled.task().training, point.lambda);
    double objective = 0;
    for (const double w : alone->weights) objective += point.lambda * w * w;
    for (const LabelledItems& query : scaled.task().training) {
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
  auto chosen =
      FitRelevance(scaled.task().training, result.points[result.chosen].lambda);
  scaled.scale().ToOriginalUnits(1, chosen->weights);
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
  const auto check = [](auto make) {
    return
        [make](const auto& options) { return make(options, kShape).status(); };
  };
  ExpectRefusals(
      RankSvmOptions(), check(&MakeRankSvmLearner),
      {{"lambda: 0", "rank_svm.lambda is 0, must be above 0"},
       {"gap_tolerance: 2", "rank_svm.gap_tolerance is 2, must be above 0"}});
  ExpectRefusals(ListNetOptions(), check(&MakeListNetLearner),
                 {{"lambda: -1", "list_net.lambda is -1, must be above 0"}});
  ExpectRefusals(RegressionOptions(), check(&MakeRegressionLearner),
                 {{"l2: -1", "regression.l2 is -1, must be finite"}});
}

}  // namespace
}  // namespace sortition
