#include "trainer/labelled/labelled_report.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using config::v1::LabelledReport;
using config::v1::TrainReport;
using testing::HasSubstr;
using testing::Not;

TrainReport Report() {
  TrainReport report;
  LabelledReport* labelled = report.mutable_labelled();
  labelled->set_measure("graded DCG@10");
  labelled->set_validation_measure("graded DCG@10, deterministic");
  for (const double lambda : {0.5, 0.25}) {
    LabelledReport::Point* point = labelled->add_points();
    point->set_lambda(lambda);
    point->set_chosen(lambda == 0.25);
  }
  return report;
}

TEST(LabelledReportTest, SettingsAreAColumnWhereThereAreAny) {
  TrainReport report = Report();
  EXPECT_THAT(FormatLabelledReport(report), Not(HasSubstr("setting")));
  auto* points = report.mutable_labelled()->mutable_points();
  points->at(0).set_setting("temperature 10, learning rate 0.01");
  points->at(1).set_setting("temperature 1");
  const std::string text = FormatLabelledReport(report);
  EXPECT_THAT(text,
              HasSubstr("    lambda                             setting"));
  EXPECT_THAT(text,
              HasSubstr("       0.5  temperature 10, learning rate 0.01"));
  EXPECT_THAT(text,
              HasSubstr("*       0.25                       temperature 1"));
  EXPECT_THAT(text, HasSubstr("validation: mean graded DCG@10, deterministic"));
}

TEST(LabelledReportTest, TemperaturesComeWithWhatTheyKeep) {
  TrainReport report = Report();
  LabelledReport* labelled = report.mutable_labelled();
  labelled->set_inverse_temperature(8);
  EXPECT_THAT(FormatLabelledReport(report),
              HasSubstr("Inverse temperature, as given: 8"));
  labelled->set_measure_by_chance(0.2);
  labelled->set_measure_by_score(0.7);
  auto* row = labelled->add_temperatures();
  row->set_inverse_temperature(8);
  row->set_measure(0.6);
  row->set_entropy(1.25);
  row->set_chosen(true);
  const std::string text = FormatLabelledReport(report);
  EXPECT_THAT(text,
              HasSubstr("*          8      0.60000     80.0 %    1.2500"));
  EXPECT_THAT(text, HasSubstr("by score      0.70000"));
  EXPECT_THAT(text, HasSubstr("keeps 95 % of what the policy by score gains"));
  EXPECT_THAT(text, Not(HasSubstr("as given")));
}

}  // namespace
}  // namespace sortition
