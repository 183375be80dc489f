#include "core/learners/games/game_task.h"

#include <cmath>
#include <limits>
#include <vector>

#include "core/data/labelled_items.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/random_queries.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode::kInvalidArgument;
using config::v1::GameOptions;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
              StatusIs(kInvalidArgument, HasSubstr("none of 1 queries")));
}

TEST(GameTaskTest, RefusesBadData) {
  TestQueries label, nan, width;
  label.Add({1, 2}, {1, 0});
  label.Add({1, 2}, {0, 2});
  nan.Add({1, std::numeric_limits<float>::quiet_NaN()}, {0, 1});
  width.Add({1, 2}, {0, 1});
  width.Add({1, 2, 3, 4}, {0, 1});
  const GameOptions options;
  EXPECT_THAT(
      MakeGameTask(label.views(), options),
      StatusIs(kInvalidArgument, HasSubstr("query 1: relevances[1] is 2, must "
                                           "be within [0, 1]")));
  EXPECT_THAT(MakeGameTask(nan.views(), options),
              StatusIs(kInvalidArgument,
                       HasSubstr("query 0: features (row 1, column 0) "
                                 "is nan, must be finite")));
  EXPECT_THAT(MakeGameTask(width.views(), options),
              StatusIs(kInvalidArgument,
                       HasSubstr("query 1: has 2 features, must have 1")));
  EXPECT_THAT(MakeGameTask({}, options),
              StatusIs(kInvalidArgument, HasSubstr("0 queries")));
  const std::vector<LabelledItems> no_items = {{}};
  EXPECT_THAT(MakeGameTask(no_items, options),
              StatusIs(kInvalidArgument, HasSubstr("query 0: has 0 items")));
  std::vector<LabelledItems> fewer = width.views();
  fewer[0].relevances = fewer[0].relevances.subspan(1);
  EXPECT_THAT(
      MakeGameTask(fewer, options),
      StatusIs(kInvalidArgument, HasSubstr("has 1 relevances, must have 2")));
}

TEST(GameTaskTest, RefusesOptionsWithoutMeaning) {
  TestQueries queries;
  queries.Add({1, 2}, {1, 0});
  const auto refusal = [&](const GameOptions& options) {
    return MakeGameTask(queries.views(), options).status();
  };
  GameOptions options;
  options.set_relevant_from(2);
  EXPECT_THAT(refusal(options),
              StatusIs(kInvalidArgument, HasSubstr("relevant_from is 2")));
  options.clear_relevant_from();
  options.set_max_relevance(32);
  EXPECT_THAT(refusal(options),
              StatusIs(kInvalidArgument, HasSubstr("max_relevance is 32")));
  options.clear_max_relevance();
  options.set_adversary(GameOptions::K_POSITIVES);
  EXPECT_THAT(refusal(options),
              StatusIs(kInvalidArgument, HasSubstr("k is 0")));
  options.set_k(1);
  options.set_measure(GameOptions::F_BETA);
  EXPECT_THAT(
      refusal(options),
      StatusIs(kInvalidArgument, HasSubstr("adversary is K_POSITIVES")));
  options.clear_adversary();
  options.clear_k();
  options.set_measure(GameOptions::PRECISION);
  EXPECT_THAT(refusal(options),
              StatusIs(kInvalidArgument, HasSubstr("k is 0")));
}

}  // namespace
}  // namespace sortition
