#include "core/learners/classes/chain_learner.h"

#include <algorithm>
#include <vector>

#include "core/learners/labelled/label_accuracy.h"
#include "sortition/config/v1/classes.pb.h"
#include "tests/testing/random_queries.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode::kInvalidArgument;
using config::v1::ChainOptions;
using ::testing::HasSubstr;

ChainOptions ChainOptionsOf(ChainOptions::Objective objective) {
  ChainOptions options;
  options.set_objective(objective);
  return options;
}

std::unique_ptr<LabelledLearner> Make(const ChainOptions& options,
                                      uint32_t num_labels) {
  return MakeChainLearner(options,
                          {.num_features = 3, .max_relevance = num_labels - 1})
      .value();
}

// Labels 0, 1, 2, 0, .. from a start that only the first item reveals: without
// transitions only every twelfth is known.
TestQueries Cycles(int num_sequences) {
  TestQueries sequences;
  for (int s = 0; s < num_sequences; ++s) {
    std::vector<float> features(12 * 3, 0);
    std::vector<uint32_t> labels;
    for (uint32_t j = 0; j < 12; ++j) {
      labels.push_back((static_cast<uint32_t>(s) + j) % 3);
    }
    features[labels[0]] = 1;
    sequences.Add(features, labels);
  }
  return sequences;
}

TEST(ChainLearnerTest, LearnsWhatFollowsWhat) {
  const TestQueries sequences = Cycles(9);
  for (const auto objective : {ChainOptions::LIKELIHOOD, ChainOptions::HINGE}) {
    const auto learner = Make(ChainOptionsOf(objective), 3);
    size_t steps = 0;
    ASSERT_OK_AND_ASSIGN(
        const LabelledResult result,
        learner->Train({.training = sequences.views(),
                        .validation = sequences.views(),
                        .on_step = [&steps](size_t) { ++steps; }}));
    ASSERT_EQ(result.points.size(), 13);
    EXPECT_GE(steps, 13);
    EXPECT_LE(steps, 13 * learner->most_steps());
    for (const LabelledPoint& point : result.points) {
      EXPECT_GE(point.objective, *point.dual_bound);
      EXPECT_LE(point.objective - *point.dual_bound, learner->gap_tolerance());
    }
    EXPECT_EQ(result.points[result.chosen].validation, 1) << objective;
    // T(l, l + 1) is the largest of its row.
    ASSERT_EQ(result.weights.size(), 9);
    ASSERT_EQ(result.transitions.size(), 9);
    for (size_t l = 0; l < 3; ++l) {
      const auto row =
          result.transitions.begin() + static_cast<ptrdiff_t>(3 * l);
      EXPECT_EQ(std::max_element(row, row + 3) - row,
                static_cast<ptrdiff_t>((l + 1) % 3));
    }
    // The published model has the same weights.
    ASSERT_OK_AND_ASSIGN(
        const model::v1::Policy policy,
        learner->MakePolicy({.action_kind = learner->default_action(),
                             .inverse_temperature = 10000,
                             .transitions = result.transitions}));
    ASSERT_OK_AND_ASSIGN(
        const LabelFigures figures,
        LabelFiguresOf(policy, result.weights, sequences.views()[1]));
    EXPECT_EQ(figures.by_score, 1);
    EXPECT_GT(figures.expected, 0.99);
    EXPECT_NEAR(figures.by_chance, 1.0 / 3, 1e-12);
  }
}

TEST(ChainLearnerTest, PublishesAChainWithoutMixture) {
  const auto learner = Make({}, 2);
  EXPECT_EQ(learner->measure().Name(), "accuracy");
  ASSERT_OK_AND_ASSIGN(
      const model::v1::Policy policy,
      learner->MakePolicy({.action_kind = learner->default_action(),
                           .inverse_temperature = 2,
                           .uniform_mixture = 0.02,
                           .transitions = {1, 2, 3, 4}}));
  EXPECT_EQ(policy.inverse_temperature(), 2);
  EXPECT_EQ(policy.uniform_mixture(), 0);
  EXPECT_EQ(policy.label_chain().num_labels(), 2);
  EXPECT_EQ(policy.label_chain().transitions(2), 3);
  EXPECT_THAT(
      learner->MakePolicy({.action_kind = ActionKind::kRank}),
      StatusIs(kInvalidArgument, HasSubstr("action is rank, must be label")));
  EXPECT_THAT(
      learner->MakePolicy(
          {.action_kind = ActionKind::kSubset, .transitions = {1, 2, 3}}),
      StatusIs(kInvalidArgument,
               HasSubstr("transitions has 3 values, must have 4 or none")));
}

TEST(ChainLearnerTest, NamesWhatIsWrong) {
  ChainOptions options;
  options.add_lambda(0);
  EXPECT_THAT(MakeChainLearner(options, {.num_features = 3, .max_relevance = 2})
                  .status(),
              StatusIs(kInvalidArgument, HasSubstr("chain.lambda is 0")));
  TestQueries alike;
  alike.Add({1, 2, 3, 4, 5, 6}, {1, 1});
  EXPECT_THAT(Make({}, 2)->Train(
                  {.training = alike.views(), .validation = alike.views()}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("1 training sequences has label 1")));
  LabelledPolicyTask task{.action_kind = ActionKind::kSubset};
  task.rank.set_head(3);
  EXPECT_THAT(Make({}, 2)->MakePolicy(task),
              StatusIs(kInvalidArgument, HasSubstr("rank_policy is set")));
}

}  // namespace
}  // namespace sortition
