#include "core/learners/labelled/tuned_learner.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/learners/labelled/lambda_path.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sortition/config/v1/orders.pb.h"
#include "tests/testing/random_queries.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::RankSvmOptions;
using testing::ElementsAre;
using testing::HasSubstr;

// Two features: the first marks relevant items, the second the others.
TestQueries TwoQueries() {
  TestQueries queries;
  queries.Add({1, 0, 0, 1}, {1, 0});
  queries.Add({0, 1, 1, 0}, {0, 1});
  return queries;
}

struct Setting {
  double lambda;
  std::vector<double> weights;
};

// A point for each setting, whose fit is the setting itself.
TunedLearnerSpec SpecOf(const std::vector<Setting>& settings) {
  TunedLearnerSpec spec;
  spec.options = std::make_shared<RankSvmOptions>();
  spec.measure = {.kind = LabelMeasure::Kind::kDcg, .k = 1, .gains = {0, 1}};
  spec.num_points = settings.size();
  spec.most_steps = 2;
  spec.scales_features = false;
  spec.points = [settings](const LabelledTask&) {
    std::vector<TuningPoint> points;
    for (const Setting& setting : settings) {
      const auto fit = [setting](const LabelledTask&,
                                 const std::function<void()>& on_step)
          -> absl::StatusOr<PointFit> {
        on_step();
        on_step();
        return PointFit{.weights = setting.weights,
                        .transitions = {setting.lambda},
                        .objective = 2 * setting.lambda,
                        .dual_bound = setting.lambda,
                        .passes = 7,
                        .termination = "done"};
      };
      points.push_back({.lambda = setting.lambda,
                        .setting = absl::StrCat("of ", setting.lambda),
                        .fit = fit});
    }
    return points;
  };
  return spec;
}

absl::StatusOr<LabelledResult> Train(const TunedLearnerSpec& spec,
                                     const TestQueries& queries) {
  return TunedLearner(spec).Train(
      {.training = queries.views(), .validation = queries.views()});
}

TEST(TunedLearnerTest, TakesTheBestOrderOfValidation) {
  const TestQueries queries = TwoQueries();
  ASSERT_OK_AND_ASSIGN(
      const LabelledResult result,
      Train(SpecOf({{1, {0, 1}}, {2, {1, 0}}, {3, {0, 2}}}), queries));
  EXPECT_EQ(result.chosen, 1);
  EXPECT_THAT(result.weights, ElementsAre(1, 0));
  EXPECT_THAT(result.transitions, ElementsAre(2));
  ASSERT_EQ(result.points.size(), 3);
  EXPECT_EQ(result.points[0].validation, 0);
  const LabelledPoint& point = result.points[1];
  EXPECT_EQ(point.validation, 1);
  EXPECT_EQ(point.lambda, 2);
  EXPECT_EQ(point.objective, 4);
  EXPECT_EQ(point.dual_bound, 2);
  EXPECT_EQ(point.passes, 7);
  EXPECT_EQ(point.setting, "of 2");
  EXPECT_EQ(point.termination, "done");
}

// Fits get features of standard deviation 1, and their weights, of which two
// multiply each feature here, are published for the features as they are.
TEST(TunedLearnerTest, FitsGetScaledFeatures) {
  const TestQueries queries = TwoQueries();  // Standard deviation 1/2.
  TunedLearnerSpec spec = SpecOf({{1, {1, 2, 3, 4}}});
  spec.scales_features = true;
  spec.weights_per_feature = 2;
  spec.points = [inner = spec.points](const LabelledTask& task) {
    for (const auto& part : {task.training, task.validation}) {
      const auto values = part[0].items.values();
      EXPECT_THAT(std::vector<float>(values.begin(), values.end()),
                  ElementsAre(2, 0, 0, 2));
      EXPECT_EQ(part[1].relevances[1], 1);
    }
    return inner(task);
  };
  spec.validate = [](const LabelledItems& query, const PointFit& fit) {
    return absl::StatusOr<double>(query.items.values()[0] * fit.weights[0]);
  };
  ASSERT_OK_AND_ASSIGN(const LabelledResult result, Train(spec, queries));
  EXPECT_THAT(result.weights, ElementsAre(2, 4, 6, 8));
  EXPECT_EQ(result.points[0].validation, 1);  // (1 · 2 + 0 · 2) / 2
}

// Of a constant feature the scale is its value, of one that is always 0 it
// is 1. Zeros of sparse rows count, and stay out of the rows.
TEST(FeatureScaleTest, IsTheStandardDeviation) {
  TestQueries queries;
  queries.Add({3, -7, 0, 1, 5, -7, 0, 1}, {0, 1});
  queries.Add({1, -7, 0, 1.0000001F, 3, -7, 0, 1}, {0, 1});
  EXPECT_THAT(FeatureScale(queries.views()).scales(),
              ElementsAre(testing::DoubleNear(std::sqrt(2), 1e-12), 7, 1,
                          testing::DoubleNear(1, 1e-6)));
  const std::vector<uint32_t> offsets = {0, 1, 1, 2, 2};
  const std::vector<uint32_t> columns = {0, 1};
  const std::vector<float> values = {4, 4};
  const std::vector<uint32_t> relevances = {0, 0, 0, 1};
  const LabelledItems sparse = {
      Candidates::SparseUnchecked(offsets, columns, values, 2), relevances};
  const FeatureScale scale({&sparse, 1});
  EXPECT_THAT(scale.scales(),
              ElementsAre(testing::DoubleNear(std::sqrt(3), 1e-12),
                          testing::DoubleNear(std::sqrt(3), 1e-12)));
  const ScaledQueries scaled({&sparse, 1}, scale);
  EXPECT_TRUE(scaled.views()[0].items.sparse());
  EXPECT_NEAR(scaled.views()[0].items.values()[1], 4 / std::sqrt(3), 1e-6);
}

// Words of 1, 9, 10 and 40 of 4,000 rows. Those of the first three have the
// scale of the third.
TEST(FeatureScaleTest, RareWordsAreNotScaledUpWithoutBound) {
  constexpr uint32_t kRows = 4000;
  constexpr uint32_t kWords[] = {1, 9, 10, 40};
  std::vector<uint32_t> offsets = {0};
  std::vector<uint32_t> columns;
  for (uint32_t row = 0; row < kRows; ++row) {
    for (uint32_t word = 0; word < 4; ++word) {
      if (row < kWords[word]) columns.push_back(word);
    }
    offsets.push_back(static_cast<uint32_t>(columns.size()));
  }
  const std::vector<float> values(columns.size(), 3);
  const std::vector<uint32_t> relevances(kRows);
  const LabelledItems items = {
      Candidates::SparseUnchecked(offsets, columns, values, 4), relevances};
  const std::vector<double> scales = FeatureScale({&items, 1}).scales();
  const double of_ten = 3 * std::sqrt(10.0 / kRows);
  EXPECT_NEAR(scales[0], of_ten, 1e-9);
  EXPECT_NEAR(scales[1], of_ten, 1e-9);
  EXPECT_NEAR(scales[2], of_ten, 0.01 * of_ten);
  EXPECT_NEAR(scales[3], 3 * std::sqrt(0.01 * 0.99), 1e-9);
}

// A larger λ trusts noise less; at equal λ the first point is chosen.
TEST(TunedLearnerTest, TiesGoToTheLargerLambda) {
  const TestQueries queries = TwoQueries();
  EXPECT_EQ(
      Train(SpecOf({{1, {1, 0}}, {3, {2, 0}}, {2, {3, 0}}}), queries)->chosen,
      1);
  EXPECT_EQ(Train(SpecOf({{1, {1, 0}}, {1, {2, 0}}}), queries)->chosen, 0);
}

TEST(TunedLearnerTest, ALearnersOwnValidationGoesFirst) {
  const TestQueries queries = TwoQueries();
  TunedLearnerSpec spec = SpecOf({{1, {1, 0}}, {2, {0, 1}}});
  size_t asked = 0;
  spec.validate = [&](const LabelledItems& query,
                      const PointFit& fit) -> absl::StatusOr<double> {
    ++asked;
    return fit.weights[1] * query.items.values()[0];
  };
  ASSERT_OK_AND_ASSIGN(const LabelledResult result, Train(spec, queries));
  EXPECT_EQ(result.chosen, 1);
  EXPECT_EQ(result.points[1].validation, 0.5);
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(TunedLearner(spec).validation_name(), "DCG@1, deterministic");
  spec.validation_name = "own";
  EXPECT_EQ(TunedLearner(spec).validation_name(), "own");
  spec.validate = [](const LabelledItems&, const PointFit&) {
    return absl::StatusOr<double>(absl::InternalError("no"));
  };
  EXPECT_THAT(Train(spec, queries), StatusIs(absl::StatusCode::kInternal));
}

TEST(TunedLearnerTest, TellsWhichPointTookAStep) {
  const TestQueries queries = TwoQueries();
  std::vector<size_t> steps;
  LabelledTask task{.training = queries.views(), .validation = queries.views()};
  task.on_step = [&](size_t point) { steps.push_back(point); };
  const TunedLearner learner(SpecOf({{1, {1, 0}}, {2, {0, 1}}}));
  ASSERT_OK(learner.Train(task));
  EXPECT_THAT(steps, ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(learner.num_points(), 2);
  EXPECT_EQ(learner.most_steps(), 2);
}

TEST(TunedLearnerTest, RefusesBadPartsAndWeights) {
  const TestQueries queries = TwoQueries();
  TestQueries wide;
  wide.Add({1, 2, 3}, {1});
  const TunedLearner learner(SpecOf({{1, {1, 0}}}));
  EXPECT_THAT(
      learner.Train({.training = queries.views(), .validation = wide.views()}),
      IsInvalidArgument("validation queries have 3 features, must have 2"));
  EXPECT_THAT(learner.Train({.training = queries.views(), .validation = {}}),
              IsInvalidArgument("validation: there are 0 queries"));
  TestQueries bad;
  bad.Add({NAN, 0}, {1});
  EXPECT_THAT(
      learner.Train({.training = bad.views(), .validation = queries.views()}),
      StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Train(SpecOf({{1, {HUGE_VAL, 0}}}), queries),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("a weight of lambda 1 is inf")));
}

TEST(TunedLearnerTest, MakesPoliciesOfAllowedActionsOnly) {
  TunedLearnerSpec spec = SpecOf({{1, {1, 0}}});
  spec.actions = {ActionKind::kRank, ActionKind::kSelect};
  ASSERT_OK_AND_ASSIGN(
      const model::v1::Policy policy,
      TunedLearner(spec).MakePolicy({.uniform_mixture = 0.25}));
  EXPECT_TRUE(policy.has_plackett_luce());
  EXPECT_EQ(policy.uniform_mixture(), 0.25);
  EXPECT_THAT(
      TunedLearner(spec).MakePolicy({.action_kind = ActionKind::kSubset}),
      IsInvalidArgument("action is label, must be rank or select"));
  spec.make_policy = [](const LabelledPolicyTask&) {
    model::v1::Policy own;
    own.mutable_label_chain();
    return absl::StatusOr<model::v1::Policy>(own);
  };
  EXPECT_TRUE(TunedLearner(spec).MakePolicy({})->has_label_chain());
}

TEST(LambdaPathTest, IsOneOverCnUnlessGiven) {
  RankSvmOptions options;
  ASSERT_OK_AND_ASSIGN(std::vector<double> grid,
                       LambdaPath(options.lambda(), 50, "x.lambda"));
  ASSERT_EQ(grid.size(), 13);
  EXPECT_EQ(grid.size(), LambdaPathSize(options.lambda()));
  for (int i = 0; i < 13; ++i) {
    EXPECT_DOUBLE_EQ(grid[i], 1 / (std::exp2(i - 6) * 50));
  }
  for (const double lambda : {0.1, 3., 0.2}) options.add_lambda(lambda);
  EXPECT_THAT(LambdaPath(options.lambda(), 50, "").value(),
              ElementsAre(3, 0.2, 0.1));
  EXPECT_EQ(LambdaPathSize(options.lambda()), 3);
  for (const double bad : {0., -1., HUGE_VAL, std::nan("")}) {
    options.set_lambda(1, bad);
    EXPECT_THAT(LambdaPath(options.lambda(), 50, "x.lambda"),
                IsInvalidArgument("must be above 0 and finite"));
  }
}

TEST(OrderMeasureTest, IsGradedByTheDataAndRefusesHugeLabels) {
  ASSERT_OK_AND_ASSIGN(const LabelMeasure measure,
                       OrderMeasure({.max_relevance = 2}));
  EXPECT_EQ(measure.Name(), "graded DCG@10");
  EXPECT_THAT(measure.gains, ElementsAre(0, 1. / 3, 1));
  EXPECT_THAT(OrderMeasure({.max_relevance = 32}),
              IsInvalidArgument("relevance is 32, must be at most 31"));
  EXPECT_THAT(OrderMeasure({.max_relevance = 0})->gains, ElementsAre(0));
}

}  // namespace
}  // namespace sortition
