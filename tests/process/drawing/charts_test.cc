// Charts say what their data say, in well-formed documents.
#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "process/drawing/bump_chart.h"
#include "process/drawing/heat_map.h"
#include "process/drawing/scatter_plot.h"
#include "tests/process/drawing/svg_checks.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr Panel kPanel = {100, 100, 400, 300};

template <typename Chart>
std::string Document(void (*draw)(const Chart&, const Panel&, Svg*),
                     const Chart& chart) {
  Svg svg(600, 500);
  draw(chart, kPanel, &svg);
  return FinishChecked(std::move(svg));
}

// Two columns in 400 pixels and two rows in 300: cells are of the largest size,
// 90 by 30, below the headings.
TEST(HeatMapTest, ShadesAndNamesEveryCell) {
  const std::string text = Document(
      DrawHeatMap,
      HeatMap{.title = "a & b",
              .columns = {{.name = "left", .note = "(1)"}, {.name = "right"}},
              .rows = {{.name = "top", .shares = {0.0, 1.0}},
                       {.name = "bottom", .shares = {std::nullopt, 0.5}}}});
  EXPECT_THAT(text, HasSubstr(">a &amp; b<"));
  EXPECT_EQ(Count(text, "<rect"), 1 + 4);  // The paper and the cells.
  EXPECT_THAT(text,
              HasSubstr(absl::StrCat("<rect x=\"190.00\" y=\"108.00\" "
                                     "width=\"90.00\" height=\"30.00\" fill=\"",
                                     Shade(1))));
  for (const char* word :
       {"left", "(1)", "right", "top", "bottom", "0 %", "100 %", "50 %", "-"}) {
    EXPECT_EQ(Count(text, absl::StrCat(">", word, "<")), 1) << word;
  }
}

TEST(HeatMapTest, ManyCellsFitThePanel) {
  HeatMap map;
  map.columns.resize(10);
  map.rows.resize(30, {.name = "row",
                       .shares = std::vector<std::optional<double>>(10, 0.5)});
  const std::string text = Document(DrawHeatMap, map);
  EXPECT_EQ(Count(text, "width=\"40.00\" height=\"10.00\""), 300);
}

// Of ranks 3 and 7 the first is at place 0, the second at place 1.
TEST(BumpChartTest, OrdersItemsByTheirRanksInEachColumn) {
  const std::string text = Document(
      DrawBumpChart, BumpChart{.title = "orders",
                               .columns = {{.name = "one"}, {.name = "two"}},
                               .items = {{.name = "x", .ranks = {3, 120}},
                                         {.name = "y", .ranks = {7, 0}}}});
  EXPECT_EQ(Count(text, "<polyline"), 2);
  EXPECT_EQ(Count(text, "<circle"), 4);
  // x falls from the first to the second place, y rises.
  EXPECT_THAT(text, HasSubstr("points=\"150.00,124.00 420.00,150.00\""));
  EXPECT_THAT(text, HasSubstr("points=\"150.00,150.00 420.00,124.00\""));
  for (const char* rank : {"3", "7", "120", "0"}) {
    EXPECT_EQ(Count(text, absl::StrCat(">", rank, "<")), 1) << rank;
  }
  EXPECT_EQ(Count(text, ">x<"), 2);  // At both ends.
}

TEST(BumpChartTest, OneColumnStandsInTheMiddle) {
  const std::string text = Document(
      DrawBumpChart, BumpChart{.title = "order",
                               .columns = {{.name = "one"}},
                               .items = {{.name = "x", .ranks = {0}}}});
  EXPECT_THAT(text, HasSubstr("cx=\"300.00\""));
  EXPECT_EQ(Count(text, ">x<"), 1);
}

TEST(ScatterPlotTest, DrawsDotsMarksAndNames) {
  const std::string text = Document(
      DrawScatterPlot,
      ScatterPlot{.title = "dots",
                  .x_name = "across",
                  .y_name = "up",
                  .dots = {{{0, 0}, 0, "a"}, {{1, 1}, 1, "b"}, {{1, 1}, 1, ""}},
                  .marks = {{0.5, 0.5}}});
  EXPECT_EQ(Count(text, "<circle"), 3);
  EXPECT_EQ(Count(text, "<polygon"), 1);
  // (0, 0) is at the lower left, inside by 6 of 112 parts.
  EXPECT_THAT(text, HasSubstr("<circle cx=\"121.43\" cy=\"383.93\""));
  for (const char* word : {"dots", "across", "up", "a", "b"}) {
    EXPECT_EQ(Count(text, absl::StrCat(">", word, "<")), 1) << word;
  }
}

TEST(ScatterPlotTest, LabelsOfDotsInOnePlaceDoNotMeet) {
  ScatterPlot plot;
  for (int i = 0; i < 8; ++i) plot.dots.push_back({{1, 1}, 0, "label"});
  const std::string text = Document(DrawScatterPlot, plot);
  std::set<std::string> places;
  for (size_t at = text.find(">label<"); at != text.npos;
       at = text.find(">label<", at + 1)) {
    const size_t begin = text.rfind("<text", at);
    places.insert(text.substr(begin, text.find("font-size", begin) - begin));
  }
  EXPECT_EQ(places.size(), 8u);
}

}  // namespace
}  // namespace sortition
