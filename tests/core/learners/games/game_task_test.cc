#include "core/learners/games/game_task.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/data/labelled_items.h"
#include "core/learners/games/mpg.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sortition/config/v1/games.pb.h"
#include "tests/core/learners/learner_testing.h"
#include "tests/testing/random_queries.h"
#include "tests/testing/refusal_table.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::GameOptions;
using model::v1::GameRanking;
using model::v1::GameSubset;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(GameTaskTest, GainsAreLabelsOrExponentialWithinOne) {
  TestQueries queries;
  queries.Add({1, 2, 3, 4}, {1, 3});
  queries.Add({1, 2}, {0});
  GameOptions options;
  options.set_max_relevance(3);
  options.set_relevant_from(2);
  ASSERT_OK_AND_ASSIGN(GameTask task, MakeGameTask(queries.views(), options));
  EXPECT_THAT(task.gains, ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(task.num_features, 2u);
  EXPECT_EQ(task.max_items, 2u);
  options.set_measure(GameOptions::GRADED_DCG);
  options.set_potentials(GameOptions::PER_LEVEL);
  ASSERT_OK_AND_ASSIGN(task, MakeGameTask(queries.views(), options));
  EXPECT_THAT(task.gains, ElementsAre(0, 1. / 7, 3. / 7, 1));
  EXPECT_EQ(task.num_blocks, 3u);
}

// LETOR's discounts 1, 1, 1/log2 3; gains 0, 1/3, 1. Relevances 0, 2, 1: the
// best order has DCG@1, 2, 3 of 1, 4/3, 4/3.
TEST(GameTaskTest, NormalisersAreThoseOfTheBestOrder) {
  TestQueries queries;
  queries.Add({1, 2, 3}, {0, 2, 1});
  queries.Add({1, 2}, {0, 0});  // Has no NDCG.
  queries.Add({5}, {1});
  GameOptions options;
  options.set_max_relevance(2);
  options.set_measure(GameOptions::NDCG);
  options.set_discounts(GameOptions::LETOR);
  ASSERT_OK_AND_ASSIGN(GameTask task, MakeGameTask(queries.views(), options));
  EXPECT_THAT(task.played, ElementsAre(0, 2));
  const double third = 1 / std::log2(3.0);
  EXPECT_THAT(task.DiscountsOf(0).by_rank(),
              ElementsAre(DoubleEq(.75), DoubleEq(.75), DoubleEq(.75 * third)));
  EXPECT_THAT(task.DiscountsOf(1).by_rank(), ElementsAre(DoubleEq(3)));
  options.set_k(1);
  ASSERT_OK_AND_ASSIGN(task, MakeGameTask(queries.views(), options));
  EXPECT_THAT(task.DiscountsOf(0).by_rank(), ElementsAre(DoubleEq(1)));
  // The mean of NDCG@1 and NDCG@2.
  options.set_k(2);
  options.set_measure(GameOptions::MEAN_NDCG);
  ASSERT_OK_AND_ASSIGN(task, MakeGameTask(queries.views(), options));
  EXPECT_THAT(task.DiscountsOf(0).by_rank(),
              ElementsAre(DoubleEq((1 + .75) / 2), DoubleEq(.75 / 2)));

  TestQueries irrelevant;
  irrelevant.Add({1, 2}, {0, 0});
  EXPECT_THAT(MakeGameTask(irrelevant.views(), options),
              IsInvalidArgument("none of 1 queries"));
}

TEST(GameTaskTest, RefusesBadData) {
  TestQueries label, nan, width;
  label.Add({1, 2}, {1, 0});
  label.Add({1, 2}, {0, 2});
  nan.Add({1, std::numeric_limits<float>::quiet_NaN()}, {0, 1});
  width.Add({1, 2}, {0, 1});
  width.Add({1, 2, 3, 4}, {0, 1});
  const GameOptions options;
  EXPECT_THAT(MakeGameTask(label.views(), options),
              IsInvalidArgument("query 1: relevances[1] is 2, must "
                                "be within [0, 1]"));
  EXPECT_THAT(MakeGameTask(nan.views(), options),
              IsInvalidArgument("query 0: features (row 1, column 0) "
                                "is nan, must be finite"));
  EXPECT_THAT(MakeGameTask(width.views(), options),
              IsInvalidArgument("query 1: has 2 features, must have 1"));
  EXPECT_THAT(MakeGameTask({}, options), IsInvalidArgument("0 queries"));
  const std::vector<LabelledItems> no_items = {{}};
  EXPECT_THAT(MakeGameTask(no_items, options),
              IsInvalidArgument("query 0: has 0 items"));
  std::vector<LabelledItems> fewer = width.views();
  fewer[0].relevances = fewer[0].relevances.subspan(1);
  EXPECT_THAT(MakeGameTask(fewer, options),
              IsInvalidArgument("has 1 relevances, must have 2"));
}

TEST(GameTaskTest, RefusesOptionsWithoutMeaning) {
  TestQueries queries;
  queries.Add({1, 2}, {1, 0});
  ExpectRefusals(GameOptions(),
                 [&](const GameOptions& options) {
                   return MakeGameTask(queries.views(), options).status();
                 },
                 {{"relevant_from: 2", "relevant_from is 2"},
                  {"max_relevance: 32", "max_relevance is 32"},
                  {"adversary: K_POSITIVES", "k is 0"},
                  {"adversary: K_POSITIVES k: 1 measure: F_BETA",
                   "adversary is K_POSITIVES"},
                  {"measure: PRECISION", "k is 0"}});
}

GameOptions Options(GameOptions::Measure measure, uint32_t k = 0) {
  GameOptions options;
  options.set_measure(measure);
  if (k > 0) options.set_k(k);
  return options;
}

std::unique_ptr<LabelledLearner> MakeLearner(const GameOptions& options) {
  return MakeMpgLearner(options, kShape).value();
}

TEST(MpgTest, MaxRelevanceIsTheDatas) {
  const auto learner = MakeLearner(Options(GameOptions::GRADED_DCG));
  EXPECT_THAT(learner->measure().gains, testing::ElementsAre(0, 1. / 3, 1));
  GameOptions resolved;
  resolved.CopyFrom(learner->options());
  EXPECT_EQ(resolved.max_relevance(), 2);
  EXPECT_THAT(MakeLearner(Options(GameOptions::DCG))->measure().gains,
              testing::ElementsAre(0, 1, 1));
}

TEST(MpgTest, FreeAdversariesNeedAConstant) {
  EXPECT_FALSE(MakeLearner(Options(GameOptions::DCG))->needs_constant());
  EXPECT_TRUE(MakeLearner(Options(GameOptions::F_BETA))->needs_constant());
  GameOptions free = Options(GameOptions::DCG);
  free.set_adversary(GameOptions::FREE);
  EXPECT_TRUE(MakeLearner(free)->needs_constant());
  free.set_centre_features(true);  // A constant feature would become 0.
  EXPECT_FALSE(MakeLearner(free)->needs_constant());
}

TEST(MpgTest, PublishesTheGameOfItsMeasure) {
  LabelledPolicyTask task{.uniform_mixture = 0.1, .threshold = 0.25};
  task.game.set_block_mixing(0.5);
  ASSERT_OK_AND_ASSIGN(
      auto policy,
      MakeLearner(Options(GameOptions::GRADED_DCG, 10))->MakePolicy(task));
  EXPECT_EQ(policy.inverse_temperature(), 1);
  EXPECT_EQ(policy.uniform_mixture(), 0.1);
  EXPECT_EQ(policy.game_ranking().discount(), GameRanking::DCG);
  EXPECT_EQ(policy.game_ranking().cutoff(), 10);
  EXPECT_EQ(policy.game_ranking().block_mixing(), 0.5);
  const auto precision = MakeLearner(Options(GameOptions::PRECISION, 5));
  ASSERT_OK_AND_ASSIGN(policy, precision->MakePolicy(task));
  EXPECT_EQ(policy.game_ranking().discount(), GameRanking::PRECISION);
  EXPECT_EQ(policy.game_ranking().cutoff(), 5);
  task.action_kind = ActionKind::kSubset;
  ASSERT_OK_AND_ASSIGN(policy, precision->MakePolicy(task));
  EXPECT_EQ(policy.game_subset().measure(), GameSubset::PRECISION);
  EXPECT_EQ(policy.game_subset().k(), 5);
  GameOptions f = Options(GameOptions::F_BETA);
  f.set_beta(2);
  ASSERT_OK_AND_ASSIGN(policy, MakeLearner(f)->MakePolicy(task));
  EXPECT_EQ(policy.game_subset().measure(), GameSubset::F_BETA);
  EXPECT_EQ(policy.game_subset().beta(), 2);
  EXPECT_EQ(policy.game_subset().threshold(), 0.25);
}

TEST(MpgTest, RefusesActionsWithoutAGame) {
  LabelledPolicyTask task;
  EXPECT_THAT(MakeLearner(Options(GameOptions::F_BETA))->MakePolicy(task),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "action is rank, must be label for F_BETA"));
  task.action_kind = ActionKind::kSubset;
  EXPECT_THAT(MakeLearner(Options(GameOptions::DCG))->MakePolicy(task),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "action is label, must be rank for DCG"));
  task.threshold = 2e6;
  EXPECT_THAT(MakeLearner(Options(GameOptions::F_BETA))->MakePolicy(task),
              IsInvalidArgument("learned threshold is 2000000"));
  task.threshold = 0;
  task.game.set_plackett_luce_mixture(0.1);
  EXPECT_THAT(MakeLearner(Options(GameOptions::F_BETA))->MakePolicy(task),
              IsInvalidArgument("plackett_luce_mixture"));
}

TEST(MpgTest, RefusesOptionsThatCannotBeServedOrContradictTheData) {
  const auto error = [](const GameOptions& options) {
    const auto made = MakeMpgLearner(options, kShape);
    EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(made.status().message());
  };
  GameOptions options = Options(GameOptions::GRADED_DCG);
  options.set_potentials(GameOptions::PER_LEVEL);
  EXPECT_THAT(error(options), HasSubstr("must be BY_GAIN"));
  options = Options(GameOptions::F_BETA);
  options.set_centre_features(true);
  EXPECT_THAT(error(options), HasSubstr("must be false for F_BETA"));
  EXPECT_THAT(error(Options(GameOptions::NDCG)),
              HasSubstr("game.measure is NDCG, must be DCG"));
  options = Options(GameOptions::DCG);
  options.set_discounts(GameOptions::LETOR);
  EXPECT_THAT(error(options), HasSubstr("must be STANDARD"));
  options = Options(GameOptions::DCG);
  options.set_max_relevance(1);
  EXPECT_THAT(error(options), HasSubstr("game.max_relevance is 1, must be at "
                                        "least 2, the largest in the data"));
  EXPECT_THAT(error(Options(GameOptions::PRECISION)),
              HasSubstr("game.k is 0, must be at least 1"));
  options = Options(GameOptions::DCG);
  options.set_relevant_from(3);
  EXPECT_THAT(error(options), HasSubstr("game.relevant_from is 3, must be "
                                        "within [1, 2]"));
}

// Trains as TrainGamePath() does, and reports every step with its point.
TEST(MpgTest, TrainsThePathAndTellsItsSteps) {
  const TestQueries queries =
      RandomQueries({.num_queries = 30, .max_relevance = 2}, 1);
  GameOptions options = Options(GameOptions::DCG);
  options.add_lambda(1);
  options.add_lambda(0.1);
  const auto learner = MakeLearner(options);
  EXPECT_EQ(learner->num_points(), 2);
  std::vector<size_t> steps(2);
  LabelledTask task{.training = queries.views(),
                    .validation = queries.views(),
                    .on_step = [&steps](size_t point) { ++steps.at(point); }};
  ASSERT_OK_AND_ASSIGN(const LabelledResult result, learner->Train(task));
  ASSERT_EQ(result.points.size(), 2);
  EXPECT_EQ(result.weights.size(), 3);
  for (size_t p = 0; p < 2; ++p) {
    EXPECT_GT(steps[p], 0);
    EXPECT_LE(steps[p], learner->most_steps());
    EXPECT_LE(result.points[p].objective - *result.points[p].dual_bound,
              learner->gap_tolerance());
    EXPECT_LE(result.points[p].validation,
              result.points[result.chosen].validation);
  }
}

TEST(MpgTest, RefusesLabelsThatAreAllAlike) {
  TestQueries queries;
  queries.Add({1, 2, 3, 4, 5, 6}, {0, 0});
  const LabelledTask task{.training = queries.views(),
                          .validation = queries.views()};
  EXPECT_THAT(MakeLearner(Options(GameOptions::DCG))->Train(task),
              IsFailedPrecondition("no candidate of the 1 training queries is "
                                   "relevant (relevance of at least 1)"));
  TestQueries all;
  all.Add({1, 2, 3, 4, 5, 6}, {1, 2});
  const LabelledTask every{.training = all.views(), .validation = all.views()};
  EXPECT_THAT(MakeLearner(Options(GameOptions::F_BETA))->Train(every),
              IsFailedPrecondition("every candidate"));
}

}  // namespace
}  // namespace sortition
