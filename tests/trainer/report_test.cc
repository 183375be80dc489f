#include "trainer/report.h"

#include <string>

#include "core/learners/counterfactual/counterfactual_grid.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using testing::HasSubstr;

TEST(ReportTest, ShowsTheGrid) {
  config::v1::TrainReport report;
  report.set_train_clip(12.5);
  auto* point = report.mutable_evaluation()->add_grid();
  point->set_objective("CRM");
  point->set_optimiser("BATCH");
  point->set_lambda_factor(0.01);
  point->set_lambda(0.375);
  point->set_l2(1e-6);
  point->set_start("parent");
  point->set_iterations(17);
  point->set_termination("decrease");
  point->set_train_objective(-0.625);
  point->set_validation_reward(0.75);
  point->set_validation_lower(0.125);
  point->mutable_validation_estimate()->set_value(0.75);
  point->mutable_validation_estimate()->set_lower(0.5);
  point->mutable_validation_estimate()->set_upper(1);
  point->mutable_validation_improvement()->set_value(0.25);
  point->mutable_validation_improvement()->set_lower(-0.0625);
  point->mutable_validation_improvement()->set_upper(0.5);
  point->set_effective_sample_size(42.5);
  point->set_chosen(true);
  const std::string text = FormatReport(report);
  EXPECT_THAT(text, HasSubstr("Objective CRM, optimiser BATCH, clipped at M = "
                              "12.5"));
  EXPECT_THAT(text, HasSubstr("iterations"));
  EXPECT_THAT(text, testing::ContainsRegex(
                        "\\* +0\\.01 +0\\.375 +1e-06 +parent +17 +"
                        "decrease +-0\\.62500 +0\\.7500 +.0\\.5000, 1\\.0000. "
                        "+0\\.2500 +.-0\\.0625, 0\\.5000. +0\\.12500 +42"));
  EXPECT_THAT(text, testing::Not(HasSubstr("Nothing that was trained")));
  EXPECT_THAT(text, testing::Not(HasSubstr("smoothing")));
}

TEST(ReportTest, ShowsSmoothingWhereAPointHasIt) {
  config::v1::TrainReport report;
  auto* grid = report.mutable_evaluation()->mutable_grid();
  auto* parent = grid->Add();
  parent->set_start("parent");
  parent->set_termination(kNotTrained);
  for (const double smoothing : {0.7, 1.0}) {
    auto* point = grid->Add();
    point->set_lambda(0.375);
    point->set_start("zero");
    if (smoothing != 1) point->set_smoothing(smoothing);
  }
  grid->Mutable(1)->set_chosen(true);
  const std::string text = FormatReport(report);
  EXPECT_THAT(text, HasSubstr("\n  smoothing       c   lambda "));
  EXPECT_THAT(text,
              HasSubstr("\n                           0       0  parent"));
  EXPECT_THAT(text, HasSubstr("\n*       0.7            0.375 "));
  EXPECT_THAT(text, HasSubstr("\n          1            0.375 "));
}

TEST(ReportTest, SaysThatTheParentIsKept) {
  config::v1::TrainReport report;
  auto* point = report.mutable_evaluation()->add_grid();
  point->set_start("parent");
  point->set_termination(kNotTrained);
  EXPECT_THAT(FormatReport(report),
              testing::Not(HasSubstr("Nothing that was trained")));
  point->set_chosen(true);
  EXPECT_THAT(FormatReport(report),
              HasSubstr("Nothing that was trained validates better than the "
                        "parent, whose parameters are kept."));
}

}  // namespace
}  // namespace sortition
