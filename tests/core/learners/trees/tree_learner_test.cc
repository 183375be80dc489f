#include "core/learners/trees/tree_learner.h"

#include <cmath>
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/random_queries.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::TreeOptions;
using model::v1::TreeEnsemble;
using testing::ElementsAre;
using testing::HasSubstr;

// One tree: `above` where feature 1 is at least 0.5, else -above.
TrainedTrees Stump(double above) {
  TrainedTrees trained;
  trained.rounds = 7;
  trained.ensemble.set_num_features(2);
  trained.ensemble.set_number_format(TreeEnsemble::FLOAT);
  auto* const tree = trained.ensemble.add_trees();
  tree->add_split_features(1);
  tree->add_thresholds(0.5);
  tree->add_left_children(-1);
  tree->add_right_children(-2);
  tree->add_missing_left(true);
  tree->add_leaf_values(-above);
  tree->add_leaf_values(above);
  return trained;
}

std::unique_ptr<LabelledLearner> Learner(const TreeOptions& options = {}) {
  auto made = MakeTreeLearner(options, {.num_features = 2, .max_relevance = 1});
  EXPECT_OK(made);
  return *std::move(made);
}

// Feature 1 is right in the training query and wrong in the two validation
// queries, where a score by it ranks the relevant candidate second: NDCG 1 /
// log2(3).
class TreeLearnerTest : public testing::Test {
 protected:
  TreeLearnerTest() {
    training_.Add({1, 0, 0, 1}, {0, 1});
    for (int i = 0; i < 2; ++i) validation_.Add({0, 1, 1, 0}, {0, 1});
    task_ = {.training = training_.views(), .validation = validation_.views()};
    task_.train_trees =
        [this](std::span<const LabelledItems>, std::span<const LabelledItems>,
               const TreeOptions& given,
               const TreeStart& start) -> absl::StatusOr<TrainedTrees> {
      given_.push_back(given);
      starts_.emplace_back(start.train.begin(), start.train.end());
      validation_starts_.emplace_back(start.validation.begin(),
                                      start.validation.end());
      return trees_;
    };
  }

  TestQueries training_, validation_;
  LabelledTask task_;
  TrainedTrees trees_;  // What is "trained".
  std::vector<TreeOptions> given_;
  std::vector<std::vector<float>> starts_, validation_starts_;
};

TEST_F(TreeLearnerTest, TreesAddToTheScoresOfLinearWeights) {
  trees_ = Stump(-10);  // Corrects the order of the validation query.
  int steps = 0;
  task_.on_step = [&](size_t) { ++steps; };
  ASSERT_OK_AND_ASSIGN(const LabelledResult result, Learner()->Train(task_));
  ASSERT_EQ(result.points.size(), 4);
  EXPECT_EQ(steps, 4);
  EXPECT_NEAR(result.points[0].validation, 1 / std::log2(3), 1e-12);
  EXPECT_THAT(result.points[0].setting, HasSubstr("linear: listnet, lambda"));
  EXPECT_EQ(result.points[1].setting,
            "RANK_PAIRWISE, depth 2, rate 0.05, subsample 1");
  EXPECT_EQ(result.points[1].validation, 1);
  EXPECT_EQ(result.points[1].passes, 7);
  // The first of several equally good points.
  EXPECT_EQ(result.chosen, 1);
  EXPECT_EQ(result.note, "");
  ASSERT_EQ(result.weights.size(), 3);
  EXPECT_GT(result.weights[1], result.weights[0]);
  EXPECT_EQ(result.weights[2], 1);
  ASSERT_TRUE(result.trees.has_value());
  // Training rows had zeros: they are not missing in sparse rows of callers.
  EXPECT_EQ(result.trees->absent_feature(), TreeEnsemble::ZERO);
  // Boosting started from the linear scores.
  ASSERT_EQ(starts_.size(), 3);
  EXPECT_FLOAT_EQ(starts_[0][0], static_cast<float>(result.weights[0]));
  EXPECT_FLOAT_EQ(starts_[0][1], static_cast<float>(result.weights[1]));
  EXPECT_FLOAT_EQ(validation_starts_[2][0],
                  static_cast<float>(result.weights[1]));
}

TEST_F(TreeLearnerTest, FallsBackToLinearWeights) {
  for (const bool useless : {true, false}) {
    trees_ = Stump(10);  // The order of the linear weights.
    if (useless) trees_.ensemble.clear_trees();
    ASSERT_OK_AND_ASSIGN(const LabelledResult result, Learner()->Train(task_));
    EXPECT_EQ(result.chosen, 0);
    EXPECT_FALSE(result.trees.has_value());
    EXPECT_EQ(result.weights.size(), 2);
    EXPECT_THAT(result.note,
                HasSubstr("No trees were better than the linear weights "
                          "(listnet) on the 2 validation queries"));
  }
}

// One query has no standard error, and one of two that gains nothing has one
// that is as large as the mean gain.
TEST_F(TreeLearnerTest, FewQueriesDoNotShowThatTreesAreBetter) {
  trees_ = Stump(-10);
  TestQueries one;
  one.Add({0, 1, 1, 0}, {0, 1});
  TestQueries two;
  two.Add({0, 1, 1, 0}, {0, 1});
  two.Add({0, 0, 1, 0}, {0, 1});
  for (const TestQueries* const few : {&one, &two}) {
    task_.validation = few->views();
    ASSERT_OK_AND_ASSIGN(const LabelledResult result, Learner()->Train(task_));
    EXPECT_EQ(result.chosen, 0);
  }
}

TEST_F(TreeLearnerTest, GoesByTheTreesAloneIfAsked) {
  trees_ = Stump(1);
  TreeOptions options;
  options.set_from_linear(false);
  options.set_rounds(12);
  ASSERT_OK_AND_ASSIGN(const LabelledResult result,
                       Learner(options)->Train(task_));
  EXPECT_THAT(result.weights, ElementsAre(0, 0, 1));
  ASSERT_EQ(result.points.size(), 3);
  EXPECT_NEAR(result.points[0].validation, 1 / std::log2(3), 1e-12);
  EXPECT_TRUE(starts_[0].empty());
  EXPECT_EQ(given_[0].rounds(), 12);
}

TEST(TreeGridTest, GrowsWithTheNumberOfQueries) {
  const auto small = internal::TreeGrid({}, 63);
  const auto large = internal::TreeGrid({}, 1000);
  EXPECT_EQ(small.size(), 3);
  EXPECT_EQ(large.size(), 4);
  EXPECT_EQ(internal::TreeGridSize({}), 4);
  EXPECT_EQ(small[0].max_depth(), 2);
  EXPECT_EQ(small[0].learning_rate(), 0.05);
}

TEST(TreeGridTest, KeepsWhatOptionsSet) {
  TreeOptions options;
  options.set_max_depth(3);
  options.set_subsample(1);
  const auto grid = internal::TreeGrid(options, 1000);
  ASSERT_EQ(grid.size(), 2);  // One for each objective.
  EXPECT_EQ(grid[0].max_depth(), 3);
  EXPECT_EQ(grid[1].max_depth(), 3);
  options.set_objective(TreeOptions::BINARY_LOGISTIC);
  options.set_learning_rate(0.3);
  ASSERT_EQ(internal::TreeGrid(options, 10).size(), 1);
  EXPECT_EQ(internal::TreeGridSize(options), 1);
}

TEST_F(TreeLearnerTest, RanksOrSelects) {
  const auto learner = Learner();
  EXPECT_TRUE(learner->has_temperature());
  EXPECT_FALSE(learner->needs_constant());
  LabelledPolicyTask task{.action_kind = ActionKind::kSelect};
  ASSERT_OK_AND_ASSIGN(const auto select, learner->MakePolicy(task));
  EXPECT_TRUE(select.has_softmax_selection());
  task.action_kind = ActionKind::kSubset;
  EXPECT_THAT(learner->MakePolicy(task),
              IsInvalidArgument("action is label, must be rank or select"));
}

TEST_F(TreeLearnerTest, SomebodyMustTrainTheTrees) {
  task_.train_trees = [](auto, auto, const auto&,
                         const auto&) -> absl::StatusOr<TrainedTrees> {
    return absl::InvalidArgumentError("rounds is 0");
  };
  EXPECT_THAT(Learner()->Train(task_),
              StatusIs(absl::StatusCode::kInvalidArgument, "rounds is 0"));
  task_.train_trees = nullptr;
  EXPECT_THAT(Learner()->Train(task_),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("cannot train trees")));
}

}  // namespace
}  // namespace sortition
