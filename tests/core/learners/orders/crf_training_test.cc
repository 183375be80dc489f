#include "core/learners/orders/crf_training.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/data/labelled_queries.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/central_differences.h"
#include "tests/testing/random_queries.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode::kInvalidArgument;
using config::v1::CrfOptions;
using ::testing::HasSubstr;

constexpr CrfObjective kObjectives[] = {
    {.kind = CrfObjective::kMaximumLikelihood},
    {.kind = CrfObjective::kLossAugmented, .loss_weight = 5},
    {.kind = CrfObjective::kLossScaled},
    {.kind = CrfObjective::kExpectedLoss},
    {.kind = CrfObjective::kKullbackLeibler, .temperature = 0.2}};

bool HasLevels(const LabelledItems& query) {
  return std::ranges::adjacent_find(query.relevances, std::not_equal_to<>()) !=
         query.relevances.end();
}

std::vector<LabelledItems> WithLevels(const TestQueries& queries) {
  std::vector<LabelledItems> kept;
  std::ranges::copy_if(queries.views(), std::back_inserter(kept), HasLevels);
  return kept;
}

// The share of the pairs of different relevances that are in order.
double PairsInOrder(std::span<const LabelledItems> queries,
                    std::span<const double> weights) {
  double right = 0;
  double all = 0;
  for (const LabelledItems& query : queries) {
    std::vector<double> scores(query.relevances.size());
    ScoreAll(query.items, weights, scores);
    for (size_t i = 0; i < scores.size(); ++i) {
      for (size_t j = 0; j < scores.size(); ++j) {
        if (query.relevances[i] <= query.relevances[j]) continue;
        right += scores[i] > scores[j] ? 1 : 0;
        ++all;
      }
    }
  }
  return right / all;
}

TEST(CrfBatchObjectiveTest, GradientMatchesDifferences) {
  RandomSequence random(SeedKey(1));
  for (const CrfObjective& objective : kObjectives) {
    const TestQueries queries =
        RandomQueries({.most_items = 12, .max_relevance = 2}, 7);
    CrfOptions options;
    options.set_subset_size(4);
    options.set_subsets(3);
    const CrfBatchObjective batch(WithLevels(queries), objective, 0.1, options);
    const Eigen::VectorXd point =
        Eigen::VectorXd::NullaryExpr(3, [&] { return random.Normal(); });
    Eigen::VectorXd gradient;
    batch.Evaluate(point, &gradient);
    EXPECT_LT(
        (gradient - CentralDifferences(batch, point)).cwiseAbs().maxCoeff(),
        1e-7)
        << "objective " << objective.kind;
  }
}

// Queries with as many candidates as a subset have one subset. Larger ones
// count by the mean over their subsets, which is that of any subset if all
// scores are equal.
TEST(CrfBatchObjectiveTest, ValueIsTheMeanOverQueries) {
  TestQueries queries;
  queries.Add({1, 2}, {1, 0});                          // log 2 at w = 0
  queries.Add({1, 2, 3, 4, 5, 6}, {0, 1, 0, 0, 0, 0});  // of 3: log 3!
  CrfOptions options;
  options.set_subset_size(3);
  options.set_subsets(5);
  const CrfBatchObjective batch(queries.views(), {}, 2, options);
  EXPECT_EQ(batch.num_subsets(), 6u);
  EXPECT_NEAR(batch.Evaluate(Eigen::VectorXd::Zero(1), nullptr),
              (std::log(2) + std::log(6)) / 2, 1e-12);
  // The penalty is added: 2/2 · w².
  const CrfBatchObjective heavier(queries.views(), {}, 4, options);
  const Eigen::VectorXd w = Eigen::VectorXd::Constant(1, 0.5);
  EXPECT_NEAR(heavier.Evaluate(w, nullptr) - batch.Evaluate(w, nullptr), 0.25,
              1e-12);
}

// KL to a spread target is convex with a finite minimum. All candidates are in
// the subset, so that steps and batches have one objective; only the jitter of
// the steps remains.
TEST(CrfTrainingTest, StepsReachTheMinimumOfTheBatch) {
  const TestQueries queries = RandomQueries(
      {.num_queries = 12, .most_items = 5, .max_relevance = 2}, 3);
  const CrfObjective objective = {.kind = CrfObjective::kKullbackLeibler,
                                  .temperature = 0.5};
  CrfOptions options;
  options.set_max_epochs(4000);
  options.set_patience(4000);
  options.mutable_lbfgs()->set_gradient_tolerance(1e-9);
  options.mutable_lbfgs()->set_decrease_tolerance(0);
  const CrfBatchObjective batch(WithLevels(queries), objective, 1e-9, options);
  const auto value = [&](std::span<const double> weights) {
    return batch.Evaluate(
        Eigen::Map<const Eigen::VectorXd>(
            weights.data(), static_cast<Eigen::Index>(weights.size())),
        nullptr);
  };
  ASSERT_OK_AND_ASSIGN(
      const CrfResult best,
      TrainCrfByBatch(queries.views(), objective, 1e-9, options));
  ASSERT_OK_AND_ASSIGN(
      const CrfResult steps,
      TrainCrfBySteps(queries.views(), objective, 0.003, options,
                      [&](std::span<const double> w) { return -value(w); }));
  const double start = value(std::vector<double>(3));
  EXPECT_LT(best.objective, 0.9 * start);
  EXPECT_LT(value(steps.weights) - best.objective,
            1e-4 * (start - best.objective));
  EXPECT_GE(value(steps.weights), best.objective - 1e-12);
}

TEST(CrfTrainingTest, EveryObjectiveLearnsAPlantedOrder) {
  const TestQueries queries = RandomQueries(
      {.num_queries = 60, .most_items = 20, .max_relevance = 3, .noise = 0.1},
      5);
  const TestQueries held_out = RandomQueries(
      {.num_queries = 60, .most_items = 20, .max_relevance = 3, .noise = 0.1},
      6);
  CrfOptions options;
  options.set_max_epochs(10);
  options.mutable_lbfgs()->set_max_iterations(30);
  for (const CrfObjective& objective : kObjectives) {
    ASSERT_OK_AND_ASSIGN(
        const CrfResult steps,
        TrainCrfBySteps(queries.views(), objective, 0.1, options,
                        [&](std::span<const double> weights) {
                          return PairsInOrder(queries.views(), weights);
                        }));
    EXPECT_GT(PairsInOrder(held_out.views(), steps.weights), 0.93)
        << "steps, objective " << objective.kind;
    ASSERT_OK_AND_ASSIGN(
        const CrfResult batch,
        TrainCrfByBatch(queries.views(), objective, 1e-3, options));
    EXPECT_GT(PairsInOrder(held_out.views(), batch.weights), 0.93)
        << "batch, objective " << objective.kind;
  }
}

TEST(CrfTrainingTest, AFunctionOfTheSeed) {
  const TestQueries queries = RandomQueries({.most_items = 15}, 8);
  const auto train = [&](uint64_t seed) {
    CrfOptions options;
    options.set_seed(seed);
    options.set_max_epochs(3);
    return TrainCrfBySteps(queries.views(), {}, 0.1, options,
                           [](std::span<const double> w) { return w[0]; })
        .value()
        .weights;
  };
  EXPECT_EQ(train(1), train(1));
  EXPECT_NE(train(1), train(2));
  CrfOptions batch;
  const auto weights = [&] {
    return TrainCrfByBatch(queries.views(), {}, 0.1, batch).value().weights;
  };
  const std::vector<double> first = weights();
  EXPECT_EQ(first, weights());
  batch.set_seed(2);
  EXPECT_NE(first, weights());
}

TEST(CrfTrainingTest, KeepsTheBestEpochAndStopsByPatience) {
  const TestQueries queries = RandomQueries({}, 9);
  CrfOptions options;
  options.set_patience(3);
  const std::vector<double> script = {1, 3, 2, 3, 2, 9};
  std::vector<std::vector<double>> seen;
  int told = 0;
  ASSERT_OK_AND_ASSIGN(const CrfResult result,
                       TrainCrfBySteps(
                           queries.views(), {}, 0.1, options,
                           [&](std::span<const double> weights) {
                             seen.emplace_back(weights.begin(), weights.end());
                             return script[seen.size() - 1];
                           },
                           [&] { ++told; }));
  EXPECT_EQ(result.best_epoch, 2u);  // A tie is not better.
  EXPECT_EQ(result.passes, 5u);
  EXPECT_EQ(told, 5);
  EXPECT_EQ(result.validation, 3);
  EXPECT_EQ(result.weights, seen[1]);
  EXPECT_NE(result.weights, seen[4]);
  EXPECT_EQ(result.termination, "patience");
  options.set_max_epochs(4);
  seen.clear();
  ASSERT_OK_AND_ASSIGN(const CrfResult shorter,
                       TrainCrfBySteps(queries.views(), {}, 0.1, options,
                                       [&](std::span<const double> weights) {
                                         seen.emplace_back(weights.begin(),
                                                           weights.end());
                                         return script[seen.size() - 1];
                                       }));
  EXPECT_EQ(shorter.termination, "max_epochs");
  EXPECT_EQ(shorter.passes, 4u);
}

// One step on a query of two is along the difference of their features: -η
// p(wrong) (a_1 - a_2) at w = 0.
TEST(CrfTrainingTest, AStepIsTheGradientTimesTheRate) {
  TestQueries queries;
  queries.Add({3, 1}, {1, 0});
  CrfOptions options;
  options.set_max_epochs(1);
  ASSERT_OK_AND_ASSIGN(
      const CrfResult result,
      TrainCrfBySteps(queries.views(), {}, 0.25, options,
                      [](std::span<const double>) { return 0; }));
  const double weights = 1 - std::log(2) / std::log(3);  // a_1 - a_2
  EXPECT_NEAR(result.weights[0], 0.25 * 0.5 * weights * (3 - 1), 1e-12);
  EXPECT_NEAR(result.objective, std::log(2), 1e-12);  // Before the step.
}

TEST(CrfTrainingTest, QueriesOfOneLevelAreLeftOut) {
  TestQueries some;
  some.Add({1, 3, 2}, {0, 2, 1});
  TestQueries more;
  more.Add({5, 1}, {0, 0});
  more.Add({1, 3, 2}, {0, 2, 1});
  more.Add({5, 1}, {1, 1});
  more.Add({7}, {2});
  CrfOptions options;
  options.set_max_epochs(5);
  const auto validate = [](std::span<const double> w) { return w[0]; };
  for (const CrfObjective& objective : kObjectives) {
    ASSERT_OK_AND_ASSIGN(
        const CrfResult without,
        TrainCrfBySteps(some.views(), objective, 0.1, options, validate));
    ASSERT_OK_AND_ASSIGN(
        const CrfResult with,
        TrainCrfBySteps(more.views(), objective, 0.1, options, validate));
    EXPECT_EQ(with.weights, without.weights);
    EXPECT_EQ(with.num_skipped, 3u);
    EXPECT_EQ(without.num_skipped, 0u);
    EXPECT_EQ(TrainCrfByBatch(more.views(), objective, 0.1, options)->weights,
              TrainCrfByBatch(some.views(), objective, 0.1, options)->weights);
  }
}

TEST(CrfTrainingTest, RefusesWhatItCannotLearnFrom) {
  TestQueries queries;
  queries.Add({1, 2, 3}, {0, 1, 2});
  const auto steps = [&](const CrfObjective& objective, double rate,
                         const CrfOptions& options) {
    return TrainCrfBySteps(queries.views(), objective, rate, options,
                           [](std::span<const double>) { return 0; });
  };
  CrfOptions options;
  EXPECT_THAT(steps({}, 0, options),
              StatusIs(kInvalidArgument, HasSubstr("learning_rate is 0")));
  EXPECT_THAT(steps({.temperature = NAN}, 1, options),
              StatusIs(kInvalidArgument, HasSubstr("temperature is nan")));
  EXPECT_THAT(steps({.loss_weight = -1}, 1, options),
              StatusIs(kInvalidArgument, HasSubstr("loss_weight is -1")));
  EXPECT_THAT(TrainCrfByBatch(queries.views(), {}, HUGE_VAL, options),
              StatusIs(kInvalidArgument, HasSubstr("lambda is inf")));
  options.set_subset_size(2);
  EXPECT_THAT(
      steps({}, 1, options),
      StatusIs(kInvalidArgument, HasSubstr("query 0 has 3 different "
                                           "relevances, must have at most 2")));
  options.set_subset_size(9);
  EXPECT_THAT(steps({}, 1, options),
              StatusIs(kInvalidArgument,
                       HasSubstr("subset_size is 9, must be 2 to 8")));
  TestQueries equal;
  equal.Add({1, 2}, {1, 1});
  EXPECT_THAT(TrainCrfByBatch(equal.views(), {}, 1, {}),
              StatusIs(kInvalidArgument, HasSubstr("none of 1 queries")));
}

}  // namespace
}  // namespace sortition
