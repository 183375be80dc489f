#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "bench/support/chart.h"
#include "bench/support/report.h"
#include "bench/support/statistics.h"
#include "gtest/gtest.h"
#include "tests/testing/refusals.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

TEST(SpreadTest, MedianOfAnEvenNumberIsTheMeanOfTheMiddleTwo) {
  const Spread spread = SpreadOf({4, 1, 3, 2});
  EXPECT_EQ(spread.lowest, 1);
  EXPECT_EQ(spread.median, 2.5);
  EXPECT_EQ(spread.highest, 4);
  EXPECT_EQ(MedianOf({5, 1, 2}), 2);
}

TEST(GrowthExponentTest, IsThePowerOfAPowerLaw) {
  std::vector<std::pair<double, double>> points;
  for (const double n : {10., 100., 1000.}) {
    points.emplace_back(n, 3 * std::pow(n, 1.25));
  }
  EXPECT_NEAR(GrowthExponent(points), 1.25, 1e-12);
}

// Differences 1, 2, 3: t = 2 / (1 / √3) = 2 √3 with two degrees of freedom,
// where P(T > t) = 1/2 - t / (2 √(2 + t²)).
TEST(PairedTestTest, HasStudentsTailOfTwoDegreesOfFreedom) {
  const std::vector<double> a = {2, 4, 6};
  const std::vector<double> b = {1, 2, 3};
  const PairedTest test = TestPairs(a, b);
  EXPECT_NEAR(test.t, 2 * std::sqrt(3), 1e-12);
  EXPECT_NEAR(test.p, 0.5 - test.t / (2 * std::sqrt(2 + test.t * test.t)),
              1e-9);
}

const Chart kChart = {.title = "title",
                      .x_label = "x",
                      .y_label = "y",
                      .x = {1, 2},
                      .series = {{"series", {3, 4}}}};

TEST(ChartTest, MakesTheDirectoryOfAFigure) {
  if (std::system("gnuplot --version > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "skipped: no gnuplot; ./dev setup test";
  }
  const TempDir dir;
  const std::string path = dir.path() + "/new/folder/figure.svg";
  ASSERT_OK(DrawChart(kChart, path));
  EXPECT_TRUE(std::filesystem::is_regular_file(path));
}

TEST(ChartTest, SaysWhichDirectoryCannotBeMade) {
  const TempDir dir;
  std::ofstream(dir.path() + "/file") << "no directory";
  const absl::Status status =
      DrawChart(kChart, dir.path() + "/file/figure.svg");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr(dir.path() + "/file"));
}

TEST(TargetTest, IsMetAtItsLimit) {
  EXPECT_TRUE((Target{"us", 6, 6}.met()));
  EXPECT_FALSE((Target{"us", 6.1, 6}.met()));
  EXPECT_TRUE((Target{"ratio", 30, 30, true}.met()));
  EXPECT_FALSE((Target{"ratio", 29, 30, true}.met()));
}

TEST(TargetTest, WhatWasNotMeasuredIsMissed) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE((Target{"us", nan, 6}.met()));
  EXPECT_FALSE((Target{"ratio", nan, 6, true}.met()));
  EXPECT_FALSE((Target{"seconds", HUGE_VAL, 6}.met()));
}

TEST(FormatTargetsTest, SaysPassOrMissWithBothFiguresOnALineEach) {
  const std::vector<Target> targets = {{"time", 2.5, 3},
                                       {"speed", 10, 20, true}};
  const std::string text = FormatTargets(targets);
  EXPECT_EQ(text.find("PASS  time "), 0);
  EXPECT_THAT(text, HasTexts(" 2.5  <= 3\nMISS  speed ", " 10  >= 20\n"));
}

TEST(FormatReportAsJsonTest, HasDetailsAndTargets) {
  Report report({{"time", 2.5, 3}});
  report.details["trials"] = "[1,2]";
  EXPECT_EQ(FormatReportAsJson("rpc", report),
            R"({"benchmark":"rpc","trials":[1,2],"targets":[)"
            R"({"result":"PASS","what":"time","measured":2.5,)"
            R"("required_at_most":3.0}]})"
            "\n");
}

TEST(FormatReportAsJsonTest, StaysJsonWithQuotesAndInfinity) {
  EXPECT_EQ(FormatReportAsJson("x", Report({{"\"q\"", HUGE_VAL, 3}})),
            R"({"benchmark":"x","targets":[{"result":"MISS",)"
            R"("what":"\"q\"","measured":null,"required_at_most":3.0}]})"
            "\n");
}

TEST(ExitCodeTest, IsOneIfAnyTargetIsMissed) {
  EXPECT_EQ(ExitCode({}), 0);
  const std::vector<Target> targets = {{"met", 1, 2}, {"missed", 3, 2}};
  EXPECT_EQ(ExitCode(targets), 1);
  EXPECT_EQ(ExitCode(std::span(targets).first(1)), 0);
}

}  // namespace
}  // namespace sortition
