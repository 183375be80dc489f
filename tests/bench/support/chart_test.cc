#include "bench/support/chart.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

const Chart kChart = {.title = "title",
                      .x_label = "x",
                      .y_label = "y",
                      .x = {1, 2},
                      .series = {{"series", {3, 4}}}};

TEST(ChartTest, MakesTheDirectoryOfAFigure) {
  if (std::system("gnuplot --version > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "gnuplot is not installed";
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
  EXPECT_THAT(status.message(), testing::HasSubstr(dir.path() + "/file"));
}

}  // namespace
}  // namespace sortition
