// The self-normalised objective on a log that hardly explores.
#include <cmath>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/learners/counterfactual/counterfactual_grid.h"
#include "core/learners/counterfactual/counterfactual_learner.h"
#include "core/learners/counterfactual/linear_grid_data.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::PoemOptions;

// Queries of four candidates, of which practically always the first was logged.
// It earns 0.9 where the query is easy and 0.3 where it is hard, the others
// nothing. Features: whether it is the first; the same if the query is hard.
constexpr double kEasyShare = 0.2;

std::vector<BanditTuple> SharpSelections(size_t n, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  std::vector<BanditTuple> tuples(n);
  for (size_t i = 0; i < n; ++i) {
    const bool is_hard = random.Uniform() >= kEasyShare;
    tuples[i].num_features = 2;
    tuples[i].values = {1, is_hard ? 1.0F : 0.0F, 0, 0, 0, 0, 0, 0};
    tuples[i].action = {0};
    tuples[i].log_propensity = -1e-5;
    tuples[i].loss = random.Uniform() < (is_hard ? 0.3 : 0.9) ? -1 : 0;
    tuples[i].unit = UnitKey("", std::to_string(i));
  }
  return tuples;
}

double TrueReward(const Eigen::VectorXd& w) {
  const auto takes_first = [](double score) {
    return 1 / (1 + 3 * std::exp(-score));
  };
  return kEasyShare * 0.9 * takes_first(w[0]) +
         (1 - kEasyShare) * 0.3 * takes_first(w[0] + w[1]);
}

// Of hard queries the self-normalised objective learns to take what was never
// logged, which costs it nothing.
TEST(SharpLogTest, SelfNormalisedLearningThatLeavesTheLogIsReplaced) {
  const LinearFamily family{ActionKind::kSelect, 2, false, 0};
  const std::vector<BanditTuple> train = SharpSelections(1000, 1);
  const std::vector<BanditTuple> validation = SharpSelections(500, 2);
  PoemOptions options;
  options.set_objective(PoemOptions::SELF_NORMALISED);
  options.set_optimiser(PoemOptions::BATCH);
  const LinearGridData data(family, train, validation, options.objective());
  const Eigen::VectorXd parent = Eigen::Vector2d(12, 0);
  const double before = TrueReward(parent);
  ASSERT_OK_AND_ASSIGN(const auto policy, data.TrainPolicy());
  ASSERT_OK_AND_ASSIGN(
      const CounterfactualResult alone,
      TrainCounterfactual(policy.get(), nullptr, {.options = options}));
  EXPECT_LT(TrueReward(alone.parameters), before - 0.1);
  GridTask task{.data = &data, .options = options};
  ASSERT_OK_AND_ASSIGN(const GridOutcome outcome, TrainGrid(task));
  EXPECT_GT(TrueReward(outcome.parameters),
            TrueReward(alone.parameters) + 0.05);
  ASSERT_TRUE(outcome.left_log.has_value());
  EXPECT_LT(outcome.left_log->value, 0.5);
  size_t self_normalised = 0;
  size_t chosen = 0;
  for (const auto& point : outcome.points) {
    chosen += point.chosen() ? 1 : 0;
    self_normalised += point.objective() == "SELF_NORMALISED" ? 1 : 0;
    if (point.chosen()) {
      EXPECT_EQ(point.objective(), "CRM");
    }
  }
  EXPECT_EQ(chosen, 1u);
  EXPECT_EQ(self_normalised, 4u);
  // From a parent that does what the log did, points stay with it. They are
  // chosen before those that leave, though the latter have moved.
  task.parent_start = parent;
  ASSERT_OK_AND_ASSIGN(const GridOutcome near_parent, TrainGrid(task));
  EXPECT_FALSE(near_parent.left_log.has_value());
  EXPECT_GT(TrueReward(near_parent.parameters), before - 0.02);
}

}  // namespace
}  // namespace sortition
