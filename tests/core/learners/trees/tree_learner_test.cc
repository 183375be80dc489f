#include "core/learners/trees/tree_learner.h"

#include <memory>

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

// One tree: 1 where feature 1 is at least 0.5, else -1.
TrainedTrees Stump() {
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
  tree->add_leaf_values(-1);
  tree->add_leaf_values(1);
  return trained;
}

std::unique_ptr<LabelledLearner> Learner(const TreeOptions& options = {}) {
  auto made = MakeTreeLearner(options, {.num_features = 2, .max_relevance = 1});
  EXPECT_OK(made);
  return *std::move(made);
}

TEST(TreeLearnerTest, GoesByTheScoreOfTheTreesAlone) {
  TestQueries training, validation;
  training.Add({1, 0, 0, 1}, {0, 1});
  // Feature 1 is right in the first query, and wrong in the second, where the
  // relevant candidate comes second: 1 / log2(3).
  validation.Add({1, 0, 0, 1}, {0, 1});
  validation.Add({0, 1, 1, 0}, {0, 1});
  TreeOptions options;
  options.set_rounds(12);
  LabelledTask task{.training = training.views(),
                    .validation = validation.views()};
  task.train_trees =
      [&](std::span<const LabelledItems> train,
          std::span<const LabelledItems> validate,
          const TreeOptions& given) -> absl::StatusOr<TrainedTrees> {
    EXPECT_EQ(train.size(), 1);
    EXPECT_EQ(validate.size(), 2);
    EXPECT_EQ(given.rounds(), 12);
    return Stump();
  };
  int steps = 0;
  task.on_step = [&](size_t) { ++steps; };
  ASSERT_OK_AND_ASSIGN(const LabelledResult result,
                       Learner(options)->Train(task));
  EXPECT_EQ(steps, 1);
  EXPECT_THAT(result.weights, ElementsAre(0, 0, 1));
  ASSERT_TRUE(result.trees.has_value());
  EXPECT_EQ(result.trees->trees_size(), 1);
  // Training rows had zeros: they are not missing in sparse rows of callers.
  EXPECT_EQ(result.trees->absent_feature(), TreeEnsemble::ZERO);
  ASSERT_EQ(result.points.size(), 1);
  EXPECT_NEAR(result.points[0].validation, (1 + 1 / std::log2(3)) / 2, 1e-12);
  EXPECT_EQ(result.points[0].passes, 7);
}

TEST(TreeLearnerTest, RanksOrSelects) {
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

TEST(TreeLearnerTest, SomebodyMustTrainTheTrees) {
  TestQueries queries;
  queries.Add({1, 0, 0, 1}, {0, 1});
  LabelledTask task{.training = queries.views(), .validation = queries.views()};
  EXPECT_THAT(Learner()->Train(task),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("cannot train trees")));
  task.train_trees = [](auto, auto,
                        const auto&) -> absl::StatusOr<TrainedTrees> {
    return absl::InvalidArgumentError("rounds is 0");
  };
  EXPECT_THAT(Learner()->Train(task),
              StatusIs(absl::StatusCode::kInvalidArgument, "rounds is 0"));
}

}  // namespace
}  // namespace sortition
