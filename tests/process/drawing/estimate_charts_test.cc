// Charts of estimates say what their data say, also where that is unknown or
// without limits.
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "process/drawing/band_chart.h"
#include "process/drawing/forest_plot.h"
#include "process/drawing/histogram.h"
#include "process/drawing/legend.h"
#include "tests/process/drawing/svg_checks.h"

namespace sortition {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Panel kEstimatePanel = {100, 100, 448, 300};

std::string Draw(const ForestPlot& plot) {
  Svg svg(700, 500);
  DrawForestPlot(plot, kEstimatePanel, 80, &svg);
  return FinishChecked(std::move(svg));
}

std::string Draw(const BandChart& chart) {
  Svg svg(700, 500);
  DrawBandChart(chart, kEstimatePanel, &svg);
  return FinishChecked(std::move(svg));
}

TEST(AxisTest, ARangeHoldsTheCoreAndWhatIsNear) {
  const Range near = RangeAround({0, 1}, {-1.5, 2.5, kInf, kNan});
  EXPECT_EQ(near.low, -1.5);
  EXPECT_EQ(near.high, 2.5);
  // Twice the width of the core away is 3.
  const Range far = RangeAround({0, 1}, {-50, 3, 3.01});
  EXPECT_EQ(far.low, 0);
  EXPECT_EQ(far.high, 3);
  const Range one = RangeAround({0}, {-50, 70});
  EXPECT_EQ(one.low, -50);
  EXPECT_EQ(one.high, 70);
  const Range none = RangeAround({kNan, 1e200}, {});
  EXPECT_EQ(none.low, 0);
  EXPECT_EQ(none.high, 1);
}

TEST(AxisTest, LogarithmicTicksArePowersOfTen) {
  const auto labels = [](double low, double high) {
    std::vector<std::string> texts;
    for (const Tick& tick : LogTicks({low, high, 0, 1})) {
      texts.push_back(tick.label);
    }
    return texts;
  };
  EXPECT_THAT(labels(-2.1, 1.2), ElementsAre("0.01", "0.1", "1", "10"));
  EXPECT_THAT(labels(4, 7.5), ElementsAre("10000", "100k", "1M", "10M"));
  EXPECT_THAT(labels(-0.4, 0.8), ElementsAre("0.5", "1", "2", "5"));
  EXPECT_LE(LogTicks({-300, 300, 0, 1}).size(), 9u);
}

TEST(AxisTest, LabelsThatWouldMeetAreLeftOut) {
  Svg svg(700, 500);
  DrawXAxis({"name", {0, 3, 100, 130}, {{0, "zero"}, {1, "one"}, {3, "three"}}},
            kEstimatePanel, &svg);
  const std::string text = FinishChecked(std::move(svg));
  EXPECT_THAT(text, HasSubstr(">zero<"));
  EXPECT_THAT(text, Not(HasSubstr(">one<")));
  EXPECT_EQ(Count(text, "<line"), 3);
}

// The axis shows 0 to 1 and 6 % beyond, on 448 pixels: 0.06 are 24.
TEST(ForestPlotTest, MarksAndEndsStandWhereTheValuesAre) {
  const std::string text =
      Draw({.title = "a & b",
            .x_name = "across",
            .rows = {{.name = "marked",
                      .estimate = {{0.5, 0, 1}},
                      .note = "0.5 [0, 1]",
                      .marked = true},
                     {.name = "head", .estimate = {}},
                     {.name = "plain", .estimate = {{0.25, 0, 0.5}}}},
            .levels = {{0.75, "level"}}});
  // Three rows share 300 pixels.
  EXPECT_THAT(text, HasSubstr("<line x1=\"124.00\" y1=\"150.00\" x2=\"524.00\" "
                              "y2=\"150.00\""));
  EXPECT_THAT(text, HasSubstr("<polygon points=\"324.00,144.00"));
  EXPECT_THAT(text, HasSubstr("<circle cx=\"224.00\" cy=\"350.00\""));
  EXPECT_THAT(text, HasSubstr("<line x1=\"424.00\" y1=\"100.00\" x2=\"424.00\" "
                              "y2=\"400.00\""));
  for (const char* word : {"a &amp; b", "across", "marked", "head", "plain",
                           "level", "0.5 [0, 1]"}) {
    EXPECT_EQ(Count(text, absl::StrCat(">", word, "<")), 1) << word;
  }
}

// A marked row of width 1 sets the axis, -2 to 3 at most.
TEST(ForestPlotTest, AnIntervalThatLeavesThePanelEndsInAnArrow) {
  const auto arrows = [](double value, double lower, double upper) {
    const std::string text =
        Draw({.rows = {{.name = "a", .estimate = {{0.5, 0, 1}}, .marked = true},
                       {.name = "b", .estimate = {{value, lower, upper}}}}});
    return Count(text, "<polygon") - 1;  // Without the diamond.
  };
  EXPECT_EQ(arrows(0.5, 0, 2), 0);
  EXPECT_EQ(arrows(0.5, 0, 9), 1);
  EXPECT_EQ(arrows(0.5, -kInf, kInf), 2);
  EXPECT_EQ(arrows(80, 70, 90), 2);  // Both on the right.
  EXPECT_EQ(arrows(0.5, kNan, 1), 0);
  EXPECT_EQ(arrows(kNan, 1e200, 1e300), 2);
}

TEST(ForestPlotTest, RowsWithoutANumberHaveNoMark) {
  const std::string text =
      Draw({.rows = {{.name = "a", .estimate = {{kNan, kNan, kNan}}}},
            .levels = {{kNan, "nowhere"}, {kInf, "away"}}});
  EXPECT_EQ(Count(text, "<circle"), 0);
  EXPECT_THAT(text, HasSubstr(">a<"));
  EXPECT_THAT(text, Not(HasSubstr("nowhere")));
}

// 0 to 2 across and 0 to 1 up, with 6 % around: 448 and 300 pixels.
TEST(BandChartTest, LinesAndBandsStandWhereTheValuesAre) {
  const std::string text =
      Draw({.title = "title",
            .x_name = "across",
            .y_name = "up",
            .series = {{"s", {{0, 0.5, 0.25, 1}, {2, 0.5, 0, 0.75}}}},
            .levels = {{0.5, "level"}},
            .x_ticks = {{0, "first"}, {2, "last"}}});
  const auto y = [](double value) {
    return absl::StrFormat("%.2f", 400 - 300 * (value + 0.06) / 1.12);
  };
  EXPECT_THAT(text, HasSubstr(absl::StrCat("points=\"124.00,", y(0.5),
                                           " 524.00,", y(0.5), "\"")));
  EXPECT_THAT(text, HasSubstr(absl::StrCat("<polygon points=\"124.00,", y(1),
                                           " 524.00,", y(0.75), " 524.00,",
                                           y(0), " 124.00,", y(0.25), "\"")));
  for (const char* word :
       {"title", "across", "up", "s", "level", "first", "last"}) {
    EXPECT_EQ(Count(text, absl::StrCat(">", word, "<")), 1) << word;
  }
}

// What is unknown is a gap; a single day has a whisker instead of a band.
TEST(BandChartTest, UnknownValuesAreGaps) {
  const std::string text = Draw({.series = {{"s",
                                             {{0, 1, 0, 2},
                                              {1, 1, -kInf, kInf},
                                              {2, kNan, 0, 2},
                                              {3, 1, 0, 2},
                                              {4, kInf, 0, 2},
                                              {5, 1, kNan, kNan},
                                              {6, 1, 1, 1}}}},
                                 .levels = {{kNan, "nowhere"}}});
  EXPECT_EQ(Count(text, "<circle"), 5);
  EXPECT_EQ(Count(text, "<polygon"), 1);  // Of the first two.
}

TEST(BandChartTest, LogarithmicAxesPassOverWhatIsNotPositive) {
  const std::string text = Draw({.series = {{"s",
                                             {{0, 10, 10, 10},
                                              {0.01, 100, 100, 100},
                                              {0.1, 10, 10, 10},
                                              {1, -1, -1, -1}}}},
                                 .logarithmic = true});
  EXPECT_EQ(Count(text, "<circle"), 2);
  EXPECT_EQ(Count(text, "<polygon"), 0);  // No intervals.
  EXPECT_THAT(text, HasSubstr(">0.01<"));
  EXPECT_THAT(text, HasSubstr(">100<"));
}

// Bins of one power of ten: 448 / 2.12 pixels of 2, a tenth of it a gap.
TEST(HistogramTest, BarsOfABinStandBesideEachOther) {
  Svg svg(700, 500);
  DrawHistogram({.title = "t",
                 .x_name = "x",
                 .y_name = "y",
                 .log10_edges = {-1, 0, 1},
                 .series = {{"a", {20, 0}}, {"b", {10, kNan}}}},
                kEstimatePanel, &svg);
  const std::string text = FinishChecked(std::move(svg));
  const double bin = 448 / 2.24;
  // The tallest bar leaves a twentieth of the height above.
  EXPECT_THAT(text, HasSubstr(absl::StrFormat(
                        "<rect x=\"124.00\" y=\"%.2f\" width=\"%.2f\" "
                        "height=\"%.2f\"",
                        400 - 300 / 1.05, 0.45 * bin, 300 / 1.05)));
  EXPECT_THAT(text,
              HasSubstr(absl::StrFormat("<rect x=\"%.2f\" y=\"%.2f\"",
                                        124 + 0.45 * bin, 400 - 150 / 1.05)));
  // Paper, two bars, the frame and two boxes of the legend.
  EXPECT_EQ(Count(text, "<rect"), 6);
  for (const char* word : {"t", "x", "y", "a", "b", "0.1"}) {
    EXPECT_EQ(Count(text, absl::StrCat(">", word, "<")), 1) << word;
  }
}

TEST(LegendTest, EntriesThatDoNotFitBeginARow) {
  const std::vector<LegendEntry> entries = {{"one", Colour(0)},
                                            {"two", Colour(1)},
                                            {std::string(40, 'x'), Colour(2)}};
  EXPECT_EQ(LegendHeight({}, 100), 0);
  EXPECT_EQ(LegendHeight(entries, 1000), 18);
  EXPECT_EQ(LegendHeight(entries, 150), 36);
  EXPECT_EQ(LegendHeight(entries, 10), 54);
}

TEST(LegendTest, LinesDifferWithoutColours) {
  EXPECT_EQ(Dashes(0), "");
  for (size_t a = 0; a < 4; ++a) {
    for (size_t b = 0; b < a; ++b) EXPECT_NE(Dashes(a), Dashes(b));
  }
}

}  // namespace
}  // namespace sortition
