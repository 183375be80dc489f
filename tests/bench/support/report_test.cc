#include "bench/support/report.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using testing::HasSubstr;

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
  EXPECT_THAT(text, HasSubstr(" 2.5  <= 3\nMISS  speed "));
  EXPECT_THAT(text, HasSubstr(" 10  >= 20\n"));
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
