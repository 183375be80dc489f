#include "core/learners/orders/crf.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "core/data/labelled_queries.h"
#include "core/learners/orders/crf_training.h"
#include "core/learners/orders/level_subsets.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sortition/config/v1/orders.pb.h"
#include "tests/core/learners/learner_testing.h"
#include "tests/testing/central_differences.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/random_queries.h"
#include "tests/testing/refusal_table.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::CrfOptions;
using config::v1::RankPolicyOptions;
using testing::ElementsAre;
using testing::HasSubstr;

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
  EXPECT_THAT(steps({}, 0, options), IsInvalidArgument("learning_rate is 0"));
  EXPECT_THAT(steps({.temperature = NAN}, 1, options),
              IsInvalidArgument("temperature is nan"));
  EXPECT_THAT(steps({.loss_weight = -1}, 1, options),
              IsInvalidArgument("loss_weight is -1"));
  EXPECT_THAT(TrainCrfByBatch(queries.views(), {}, HUGE_VAL, options),
              IsInvalidArgument("lambda is inf"));
  options.set_subset_size(2);
  EXPECT_THAT(steps({}, 1, options),
              IsInvalidArgument("query 0 has 3 different "
                                "relevances, must have at most 2"));
  options.set_subset_size(9);
  EXPECT_THAT(steps({}, 1, options),
              IsInvalidArgument("subset_size is 9, must be 2 to 8"));
  TestQueries equal;
  equal.Add({1, 2}, {1, 1});
  EXPECT_THAT(TrainCrfByBatch(equal.views(), {}, 1, {}),
              IsInvalidArgument("none of 1 queries"));
}

std::set<uint32_t> LevelsOf(std::span<const uint32_t> relevances,
                            const std::vector<uint32_t>& items) {
  std::set<uint32_t> levels;
  for (const uint32_t item : items) levels.insert(relevances[item]);
  return levels;
}

// All subsets that have every level, by their bits.
std::vector<std::vector<uint32_t>> SubsetsWithAllLevels(
    const std::vector<uint32_t>& relevances, size_t size) {
  std::vector<uint32_t> all(relevances.size());
  std::iota(all.begin(), all.end(), 0u);
  const std::set<uint32_t> levels = LevelsOf(relevances, all);
  std::vector<std::vector<uint32_t>> subsets;
  for (uint32_t bits = 0; bits < 1u << relevances.size(); ++bits) {
    std::vector<uint32_t> items;
    for (const uint32_t i : all) {
      if ((bits >> i & 1) != 0) items.push_back(i);
    }
    if (items.size() == size && LevelsOf(relevances, items) == levels) {
      subsets.push_back(items);
    }
  }
  return subsets;
}

TEST(LevelSubsetsTest, DrawsAreUniformOverSubsetsOfAllLevels) {
  for (const std::vector<uint32_t>& relevances :
       {std::vector<uint32_t>{0, 2, 0, 0, 1, 0, 1, 0},
        std::vector<uint32_t>{3, 3, 3, 3, 3, 3, 3, 0},
        std::vector<uint32_t>{1, 1, 1, 1, 1, 1},
        std::vector<uint32_t>{5, 0, 5, 1, 0, 1, 2, 2}}) {
    constexpr size_t kSize = 4;
    constexpr int kDraws = 40000;
    const auto subsets = SubsetsWithAllLevels(relevances, kSize);
    std::map<std::vector<uint32_t>, size_t> index;
    for (size_t s = 0; s < subsets.size(); ++s) index[subsets[s]] = s;
    LevelSubsets draws(relevances, kSize);
    ASSERT_EQ(draws.size(), kSize);
    RandomSequence random(SeedKey(1));
    std::vector<uint64_t> counts(subsets.size());
    std::vector<uint32_t> items(kSize);
    for (int draw = 0; draw < kDraws; ++draw) {
      draws.Draw(&random, items);
      std::vector<uint32_t> sorted = items;
      std::sort(sorted.begin(), sorted.end());
      const auto found = index.find(sorted);
      ASSERT_NE(found, index.end()) << "a level is missing, or an item twice";
      ++counts[found->second];
    }
    const std::vector<double> expected(subsets.size(),
                                       1 / static_cast<double>(subsets.size()));
    EXPECT_GT(ChiSquarePValue(counts, expected), 1e-4);
  }
}

// Items 3 and 700 are the only ones of their levels, so they are in every
// subset; of all subsets only 0.6 % hold a given item.
TEST(LevelSubsetsTest, RareLevelsAreInEverySubset) {
  std::vector<uint32_t> relevances(1000, 0);
  relevances[700] = 2;
  relevances[3] = 1;
  LevelSubsets draws(relevances, 6);
  RandomSequence random(SeedKey(2));
  std::vector<uint32_t> items(6);
  for (int draw = 0; draw < 1000; ++draw) {
    draws.Draw(&random, items);
    EXPECT_THAT(items, testing::IsSupersetOf({3u, 700u}));
    EXPECT_EQ(std::set<uint32_t>(items.begin(), items.end()).size(), 6u);
  }
}

TEST(LevelSubsetsTest, FewItemsAreAllDrawn) {
  const std::vector<uint32_t> relevances = {1, 0, 2};
  LevelSubsets draws(relevances, 6);
  EXPECT_TRUE(draws.all());
  std::vector<uint32_t> items(draws.size());
  RandomSequence random(SeedKey(3));
  draws.Draw(&random, items);
  EXPECT_THAT(items, ElementsAre(0, 1, 2));
}

// As many levels as places: one candidate of each.
TEST(LevelSubsetsTest, LevelsMayFillTheSubset) {
  const std::vector<uint32_t> relevances = {0, 0, 1, 1, 2, 2, 7};
  LevelSubsets draws(relevances, 4);
  EXPECT_EQ(CountLevels(relevances), 4u);
  std::vector<uint32_t> items(4);
  RandomSequence random(SeedKey(4));
  for (int draw = 0; draw < 50; ++draw) {
    draws.Draw(&random, items);
    EXPECT_EQ(LevelsOf(relevances, items).size(), 4u);
  }
}

std::unique_ptr<LabelledLearner> Make(const CrfOptions& options) {
  return MakeCrfLearner(options, kShape).value();
}

CrfOptions CrfOptionsOf(CrfOptions::Objective objective) {
  CrfOptions options;
  options.set_objective(objective);
  return options;
}

TEST(CrfTest, GridsAreThePapersUnlessGiven) {
  EXPECT_EQ(Make({})->num_points(), 16u);
  EXPECT_EQ(Make(CrfOptionsOf(CrfOptions::LOSS_AUGMENTED))->num_points(), 16u);
  EXPECT_EQ(Make(CrfOptionsOf(CrfOptions::EXPECTED_LOSS))->num_points(), 4u);
  CrfOptions options;
  options.add_temperature(0.5);
  options.add_learning_rate(0.1);
  options.add_learning_rate(0.2);
  EXPECT_EQ(Make(options)->num_points(), 2u);
  CrfOptions batch;
  batch.set_optimiser(CrfOptions::BATCH);
  EXPECT_EQ(Make(batch)->num_points(), 4u * 13u);
  CrfOptions in_force;
  in_force.CopyFrom(Make(batch)->options());
  EXPECT_THAT(in_force.temperature(), ElementsAre(1, 10, 20, 50));
  EXPECT_EQ(in_force.learning_rate_size(), 0);
}

// The gain is linear, as in eq. 12.
TEST(CrfTest, ComparesByLinearGain) {
  const LabelMeasure measure = Make({})->measure();
  EXPECT_EQ(measure.kind, LabelMeasure::Kind::kDcg);
  EXPECT_EQ(measure.k, 0u);
  EXPECT_THAT(measure.gains, ElementsAre(0, 0.5, 1));
}

TEST(CrfTest, PublishesTheModelItself) {
  const auto learner = Make({});
  LabelledPolicyTask task{.inverse_temperature = 2};
  ASSERT_OK_AND_ASSIGN(model::v1::Policy policy, learner->MakePolicy(task));
  EXPECT_TRUE(policy.has_boltzmann_ranking());
  EXPECT_EQ(policy.inverse_temperature(), 2);
  task.rank.set_kind(RankPolicyOptions::PLACKETT_LUCE);
  ASSERT_OK_AND_ASSIGN(policy, learner->MakePolicy(task));
  EXPECT_TRUE(policy.has_plackett_luce());
  task = {.action_kind = ActionKind::kSelect};
  ASSERT_OK_AND_ASSIGN(policy, learner->MakePolicy(task));
  EXPECT_TRUE(policy.has_softmax_selection());
  task.action_kind = ActionKind::kSubset;
  EXPECT_THAT(learner->MakePolicy(task), IsInvalidArgument("action is label"));
}

// One query: relevances 2, 1, 0, 0 in the order of x. For w < 0 scores fall
// with x, and NDCG is that of (0, 0, 1, 2): (1/2 + 2/log2 5) / (2 + 1/log2 3).
// For w > 0 it is 1.
TEST(CrfTest, PointsAreChosenByTheirNdcg) {
  TestQueries training;
  training.Add({4, 3, 2, 1}, {2, 1, 0, 0});
  TestQueries reversed;
  reversed.Add({1, 2, 3, 4}, {2, 1, 0, 0});
  reversed.Add({1, 2}, {0, 0});  // Counts as 0.
  CrfOptions options = CrfOptionsOf(CrfOptions::MAXIMUM_LIKELIHOOD);
  options.add_learning_rate(0.1);
  options.set_max_epochs(5);
  std::map<size_t, int> steps;
  const auto train = [&](const TestQueries& validation) {
    return Make(options)->Train(
        {.training = training.views(),
         .validation = validation.views(),
         .on_step = [&](size_t point) { ++steps[point]; }});
  };
  ASSERT_OK_AND_ASSIGN(LabelledResult result, train(training));
  EXPECT_GT(result.weights[0], 0);
  EXPECT_EQ(result.points[0].validation, 1);
  EXPECT_EQ(result.points[0].passes, 5u);
  EXPECT_EQ(result.points[0].setting, "learning_rate 0.1");
  EXPECT_THAT(result.points[0].termination, HasSubstr("best epoch 1"));
  EXPECT_EQ(steps[0], 5);
  ASSERT_OK_AND_ASSIGN(result, train(reversed));
  const double ndcg = (0.5 + 2 / std::log2(5)) / (2 + 1 / std::log2(3));
  EXPECT_NEAR(result.points[0].validation, ndcg / 2, 1e-12);
}

TEST(CrfTest, TrainsEachObjectiveByBothOptimisers) {
  const RandomQueriesShape shape = {
      .num_queries = 30, .most_items = 10, .max_relevance = 2, .noise = 0.1};
  const TestQueries training = RandomQueries(shape, 1);
  const TestQueries validation = RandomQueries(shape, 2);
  for (const auto objective :
       {CrfOptions::MAXIMUM_LIKELIHOOD, CrfOptions::LOSS_AUGMENTED,
        CrfOptions::LOSS_SCALED, CrfOptions::EXPECTED_LOSS,
        CrfOptions::KULLBACK_LEIBLER}) {
    for (const auto optimiser : {CrfOptions::STOCHASTIC, CrfOptions::BATCH}) {
      CrfOptions options = CrfOptionsOf(objective);
      options.set_optimiser(optimiser);
      if (optimiser == CrfOptions::BATCH) {
        options.set_subsets(2);
        options.add_lambda(0.01);
        options.add_lambda(0.001);
      } else {
        options.set_max_epochs(8);
      }
      const auto learner = Make(options);
      ASSERT_OK_AND_ASSIGN(const LabelledResult result,
                           learner->Train({.training = training.views(),
                                           .validation = validation.views()}));
      EXPECT_EQ(result.points.size(), learner->num_points());
      std::set<std::string> settings;
      for (const LabelledPoint& point : result.points) {
        EXPECT_LE(point.validation, result.points[result.chosen].validation);
        settings.insert(absl::StrCat(point.lambda, " ", point.setting));
      }
      EXPECT_EQ(settings.size(), result.points.size());
      const Eigen::Map<const Eigen::Vector3d> w(result.weights.data());
      const Eigen::Vector3d planted(1, -0.5, 1);
      EXPECT_GT(w.dot(planted) / (w.norm() * planted.norm()), 0.97);
    }
  }
}

TEST(CrfTest, RefusesOptionsWithoutMeaning) {
  ExpectRefusals(
      CrfOptions(),
      [](const CrfOptions& options) {
        return MakeCrfLearner(options, kShape).status();
      },
      {{"loss_weight: 1",
        "crf.loss_weight is set, must be unset except for objective "
        "LOSS_AUGMENTED"},
       {"objective: EXPECTED_LOSS temperature: 1", "crf.temperature is set"},
       {"lambda: 1",
        "crf.lambda is set, must be unset except for optimiser BATCH"},
       {"optimiser: BATCH patience: 3", "crf.patience is set"},
       {"learning_rate: 0", "crf.learning_rate is 0, must be above 0"},
       {"subset_size: 9", "crf.subset_size is 9, must be 2 to 8"},
       {"max_epochs: 0", "crf.max_epochs is 0, must be 1 to 100000"}});
}

}  // namespace
}  // namespace sortition
