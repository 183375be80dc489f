#include "server/models/failure_reports.h"

#include "gtest/gtest.h"

namespace sortition {
namespace {

using std::chrono::seconds;

FailureReports::Clock::time_point At(int count) {
  return FailureReports::Clock::time_point(seconds(count));
}

TEST(FailureReportsTest, TheFirstAtOnceThenOnceAMinuteWithTheirNumber) {
  FailureReports reports;
  EXPECT_EQ(reports.Count(At(0)), 1u);
  EXPECT_EQ(reports.Count(At(1)), 0u);
  EXPECT_EQ(reports.Count(At(59)), 0u);
  EXPECT_EQ(reports.Count(At(60)), 3u);
  EXPECT_EQ(reports.Count(At(119)), 0u);
  EXPECT_EQ(reports.Count(At(1000)), 2u);
}

}  // namespace
}  // namespace sortition
