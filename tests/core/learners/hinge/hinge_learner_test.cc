#include "core/learners/hinge/hinge_learner.h"

#include "core/learners/hinge/hinge_solver.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/core/learners/hinge/brute_hinge.h"
#include "tests/core/learners/learner_testing.h"
#include "tests/testing/random_queries.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode::kInvalidArgument;
using ::testing::HasSubstr;
using Kind = LabelMeasure::Kind;

TestQueries NoisyQueries(uint64_t seed) {
  return RandomQueries(
      {.num_queries = 25, .num_features = 3, .max_relevance = 2, .noise = 0.3},
      seed);
}

LabelledPolicyTask PolicyTask(ActionKind action) {
  LabelledPolicyTask task;
  task.action_kind = action;
  task.inverse_temperature = 3;
  task.uniform_mixture = 0.1;
  task.threshold = 0.5;
  return task;
}

TEST(HingeLearnerTest, ChoosesAPointOfItsPath) {
  const TestQueries training = NoisyQueries(1);
  const TestQueries validation = NoisyQueries(2);
  for (HingeOptions options : AllHinges()) {
    options.set_gap_tolerance(1e-2);
    ASSERT_OK_AND_ASSIGN(const auto learner, MakeHingeLearner(options, kShape));
    size_t steps = 0;
    ASSERT_OK_AND_ASSIGN(const LabelledResult result,
                         learner->Train({.training = training.views(),
                                         .validation = validation.views(),
                                         .on_step = [&](size_t) { ++steps; }}));
    ASSERT_EQ(result.points.size(), 13u);
    EXPECT_DOUBLE_EQ(result.points[0].lambda, 64. / 25);
    size_t passes = 0;
    for (const LabelledPoint& point : result.points) {
      EXPECT_LE(point.objective - *point.dual_bound, 1e-2);
      EXPECT_LE(point.validation, result.points[result.chosen].validation);
      passes += point.passes;
    }
    EXPECT_EQ(steps, passes);
    EXPECT_DOUBLE_EQ(
        result.points[result.chosen].validation,
        MeanByScore(learner->measure(), validation.views(), result.weights));
  }
}

// The point reports J at the published weights.
TEST(HingeLearnerTest, PublishesTheMinimumOfJ) {
  const TestQueries queries = NoisyQueries(3);
  HingeOptions options;
  options.add_lambda(0.01);
  ASSERT_OK_AND_ASSIGN(const auto learner, MakeHingeLearner(options, kShape));
  ASSERT_OK_AND_ASSIGN(const LabelledResult result,
                       learner->Train({.training = queries.views(),
                                       .validation = queries.views()}));
  const auto problem = *HingeProblem::Create(queries.views(), options);
  const Eigen::Map<const Eigen::VectorXd> w(result.weights.data(), 3);
  RiskPlane plane;
  problem->EvaluateAll(w, &plane);
  EXPECT_NEAR(result.points[0].objective, 0.005 * w.squaredNorm() + plane.value,
              1e-12);
  EXPECT_NEAR(result.points[0].objective, *result.points[0].dual_bound, 1e-3);
}

TEST(HingeLearnerTest, EveryLossHasItsMeasureAndPolicies) {
  for (HingeOptions options : AllHinges()) {
    options.set_beta(2);
    ASSERT_OK_AND_ASSIGN(const auto learner, MakeHingeLearner(options, kShape));
    const LabelMeasure measure = learner->measure();
    const auto policy =
        learner->MakePolicy(PolicyTask(learner->default_action()));
    ASSERT_TRUE(policy.ok()) << policy.status();
    switch (options.loss()) {
      case HingeOptions::NDCG:
      case HingeOptions::KENDALL:
        EXPECT_EQ(measure.Name(), "graded DCG@10");
        EXPECT_TRUE(policy->has_plackett_luce());
        break;
      case HingeOptions::SELECTION:
        EXPECT_EQ(measure.kind, Kind::kGain);
        EXPECT_THAT(measure.gains, testing::ElementsAre(0, 0.5, 1));
        EXPECT_TRUE(policy->has_softmax_selection());
        break;
      case HingeOptions::SENSITIVITY_SPECIFICITY:
        EXPECT_EQ(measure.Name(), "F1");
        EXPECT_EQ(policy->independent_subset().threshold(), 0.5);
        break;
      case HingeOptions::F_BETA:
        EXPECT_EQ(measure.Name(), "F2");
        EXPECT_EQ(policy->independent_subset().k(), 0u);
        break;
      case HingeOptions::PRECISION:
        EXPECT_EQ(measure.Name(), "P@2");
        EXPECT_EQ(policy->independent_subset().k(), 2u);
        break;
    }
    EXPECT_EQ(learner->needs_constant(),
              options.loss() == HingeOptions::SENSITIVITY_SPECIFICITY ||
                  options.loss() == HingeOptions::F_BETA);
    EXPECT_EQ(policy->inverse_temperature(), 3);
    EXPECT_EQ(policy->uniform_mixture(), 0.1);
  }
  HingeOptions options;
  options.set_loss(HingeOptions::F_BETA);
  EXPECT_THAT(
      (*MakeHingeLearner(options, kShape))
          ->MakePolicy(PolicyTask(ActionKind::kRank)),
      StatusIs(kInvalidArgument, HasSubstr("action is rank, must be label")));
}

TEST(HingeLearnerTest, NamesWhatIsOutsideItsRange) {
  const auto error = [](const char* text) {
    HingeOptions options;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &options));
    return MakeHingeLearner(options, kShape).status();
  };
  EXPECT_THAT(
      error("loss: PRECISION"),
      StatusIs(kInvalidArgument, HasSubstr("hinge.k is 0, must be at least")));
  EXPECT_THAT(error("lambda: 0"),
              StatusIs(kInvalidArgument, HasSubstr("hinge.lambda")));
  EXPECT_THAT(
      error("gap_tolerance: 2"),
      StatusIs(kInvalidArgument, HasSubstr("hinge.gap_tolerance is 2")));
  EXPECT_THAT(error("max_passes: 0"),
              StatusIs(kInvalidArgument, HasSubstr("hinge.max_passes is 0")));
  EXPECT_THAT(
      error("relevant_from: 0"),
      StatusIs(kInvalidArgument, HasSubstr("hinge.relevant_from is 0")));
}

}  // namespace
}  // namespace sortition
