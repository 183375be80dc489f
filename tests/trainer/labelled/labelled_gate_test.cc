#include "trainer/labelled/labelled_gate.h"

#include <cmath>
#include <string>
#include <vector>

#include "core/counterfactual/estimators.h"
#include "core/counterfactual/moments.h"
#include "core/data/labelled_queries.h"
#include "core/learners/labelled/expected_measure.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/trainer/planted_labels.h"
#include "trainer/labelled/fit.h"
#include "trainer/labelled/labelled_data.h"
#include "trainer/train.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;
using config::v1::TrainReport;
using testing::HasSubstr;

using LabelledGateTest = PlantedTest;

// Returns the expected DCG@5 of each test query.
std::vector<double> Measured(const TrainOptions& options,
                             const model::v1::Model& model) {
  const LabelledData data = ReadLabelledData(options).value();
  const ExpectedMeasure measure =
      ExpectedMeasure::Create(
          model.policy(), {model.weights().begin(), model.weights().end()},
          {.kind = LabelMeasure::Kind::kDcg, .k = 5, .gains = {0, 1, 1}})
          .value();
  std::vector<double> values;
  for (const LabelledItems& query : ViewsOf(data.test, data)) {
    values.push_back(measure.Of(query, 0).value());
  }
  return values;
}

// The interval is that of the mean difference per query, not of two means.
TEST_F(LabelledGateTest, TheDifferenceIsPairedByQuery) {
  ASSERT_OK(Train(NoiseOptions()));
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  const std::vector<double> before =
      Measured(options_, store().Load("default", 1).value().model);
  const std::vector<double> after =
      Measured(options_, store().Load("default", 2).value().model);
  Moments differences;
  for (size_t j = 0; j < after.size(); ++j) {
    differences.Add(after[j] - before[j]);
  }
  const double slack =
      StudentQuantile(0.975, after.size() - 1) *
      std::sqrt(differences.variance() / static_cast<double>(after.size()));
  const auto& difference = report.labelled().difference();
  EXPECT_NEAR(difference.value(), differences.mean(), 1e-12);
  EXPECT_NEAR(difference.lower(), differences.mean() - slack, 1e-12);
  EXPECT_NEAR(difference.upper(), differences.mean() + slack, 1e-12);
}

TEST_F(LabelledGateTest, TheGateTakesWhatIsBetterAndNothingElse) {
  // A first version that was trained on noise.
  ASSERT_OK_AND_ASSIGN(const TrainReport first, Train(NoiseOptions()));
  EXPECT_EQ(first.version(), 1);
  EXPECT_THAT(first.evaluation().verdict(),
              HasSubstr("no version of model 'default' to compare "
                        "with, so nothing was proved"));
  // A better version.
  ASSERT_OK_AND_ASSIGN(const TrainReport second, Train(options_));
  EXPECT_EQ(second.version(), 2);
  const auto& difference = second.labelled().difference();
  EXPECT_GT(difference.lower(), 0);
  EXPECT_NEAR(difference.value(),
              second.labelled().new_measure().value() -
                  second.labelled().old_measure().value(),
              1e-12);
  EXPECT_EQ(second.labelled().old_draws(), 0);
  // The same version again is not better.
  ASSERT_OK_AND_ASSIGN(const TrainReport again, Train(options_));
  EXPECT_FALSE(again.gate_passed());
  EXPECT_FALSE(again.has_version());
  EXPECT_EQ(again.labelled().difference().value(), 0);
  EXPECT_THAT(again.evaluation().verdict(), HasSubstr("Not published"));
  // A version that was trained on noise is worse on test queries with true
  // labels.
  TrainOptions noise = NoiseOptions();
  noise.add_test(Write("test", Planted(60, 0, 3)));
  ASSERT_OK_AND_ASSIGN(const TrainReport worse, Train(noise));
  EXPECT_FALSE(worse.has_version());
  EXPECT_LT(worse.labelled().difference().upper(), 0);
  noise.set_force(true);
  ASSERT_OK_AND_ASSIGN(const TrainReport forced, Train(noise));
  EXPECT_EQ(forced.version(), 3);
  EXPECT_FALSE(forced.gate_passed());
  EXPECT_THAT(forced.evaluation().verdict(), HasSubstr("Published by --force"));
}

// A small improvement on a dozen queries may be due to chance.
TEST_F(LabelledGateTest, AnImprovementMustBeCertain) {
  options_.add_test(Write("dozen", Planted(12, 0.3, 7)));
  options_.mutable_game()->clear_lambda();
  options_.mutable_game()->add_lambda(0.01);
  ASSERT_OK(Train(options_));
  options_.mutable_game()->set_lambda(0, 0.03);
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  EXPECT_GT(report.labelled().difference().value(), 0);
  EXPECT_LT(report.labelled().difference().lower(), 0);
  EXPECT_FALSE(report.gate_passed());
  EXPECT_FALSE(report.has_version());
}

TEST_F(LabelledGateTest, PlackettLuceIsComparedByDraws) {
  config::v1::FitOptions fit;
  fit.set_data(options_.data(0));
  fit.set_model_store(options_.model_store());
  fit.set_action("rank");
  fit.set_inverse_temperature(0.2);
  ASSERT_OK(Fit(fit));
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  EXPECT_EQ(report.labelled().old_draws(), 256);
  EXPECT_EQ(report.labelled().new_draws(), 0);
  EXPECT_EQ(report.version(), 2);
}

TEST_F(LabelledGateTest, WhatCannotBeComparedIsReplacedByForceOnly) {
  config::v1::FitOptions fit;
  fit.set_data(options_.data(0));
  fit.set_model_store(options_.model_store());
  ASSERT_OK(Fit(fit));  // Selects.
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  EXPECT_FALSE(report.has_version());
  EXPECT_THAT(
      report.evaluation().verdict(),
      HasSubstr(
          "version 1 cannot be compared: the policy selects a candidate"));
  EXPECT_FALSE(report.labelled().quality(0).has_old_value());
  // A different number of features.
  LabelledQueries wide = Planted(60, 0, 4);
  wide.num_features = 2;
  fit.set_data(Write("narrow", wide));
  TrainOptions narrow = options_;
  *narrow.mutable_data(0) = fit.data();
  narrow.set_model("narrow");
  ASSERT_OK(Train(narrow));
  options_.set_model("narrow");
  ASSERT_OK_AND_ASSIGN(const TrainReport other, Train(options_));
  EXPECT_THAT(other.evaluation().verdict(),
              HasSubstr("it has 2 features, the new one has 4"));
}

TEST_F(LabelledGateTest, FewTestQueriesPublishNothingOverAVersion) {
  ASSERT_OK(Train(options_));
  options_.add_test(Write("few", Planted(9, 0, 5)));
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  EXPECT_FALSE(report.has_version());
  EXPECT_THAT(report.evaluation().verdict(),
              HasSubstr("there are 9 queries to compare on, must be at least "
                        "10"));
}

TEST_F(LabelledGateTest, WithoutATestPartTheValidationPartIsNamed) {
  ASSERT_OK(Train(NoiseOptions()));
  options_.set_test_fraction(0);
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  EXPECT_EQ(report.labelled().part(), "validation");
  EXPECT_THAT(report.evaluation().verdict(),
              HasSubstr("is not proved for the chosen one"));
  EXPECT_EQ(report.labelled().test_queries(), 0);
}

}  // namespace
}  // namespace sortition
