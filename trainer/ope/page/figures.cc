#include "trainer/ope/page/figures.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "process/drawing/svg.h"
#include "process/drawing/xml_text.h"
#include "trainer/ope/page/html.h"

namespace sortition {
namespace {

constexpr double kWidth = 460;
constexpr size_t kMostTitle = 50;
constexpr size_t kMostLegendName = 30;
// Of a forest plot.
constexpr size_t kMostName = 22;
constexpr size_t kMostNote = 32;
constexpr double kNameCharacter = 8;  // Widths in bold, rather too much.
constexpr double kNoteCharacter = 6.4;
constexpr double kGap = 10;
// Of a chart with two axes of numbers.
constexpr double kLeft = 72;
constexpr double kRight = 14;
constexpr double kHeight = 200;

std::string WithCaption(Svg svg, absl::string_view caption) {
  return Element(
      "figure",
      absl::StrCat("\n", std::move(svg).FinishElement(),
                   caption.empty()
                       ? ""
                       : Element("figcaption", EscapeXml(caption)) + "\n"));
}

std::string Describe(const ForestPlot& plot) {
  std::string text = absl::StrCat("Axis: ", plot.x_name, ".");
  for (const ForestPlot::Row& row : plot.rows) {
    if (!row.estimate) {
      absl::StrAppend(&text, " ", row.name, " (", row.note, "):");
      continue;
    }
    absl::StrAppend(&text, " ", row.name, " ", row.note,
                    row.marked ? " (marked)." : ".");
  }
  return text;
}

// Says of each series what it is at its first and last place.
std::string Describe(const BandChart& chart) {
  std::string text = absl::StrCat("Axes: ", chart.x_name, "; ", chart.y_name,
                                  ". The numbers are in the table.");
  for (const BandChart::Series& series : chart.series) {
    if (series.spots.empty()) continue;
    absl::StrAppendFormat(&text, " %s: from %.4g to %.4g.", series.name,
                          series.spots.front().value,
                          series.spots.back().value);
  }
  return text;
}

std::string Describe(const Histogram& histogram) {
  std::string text = absl::StrCat("Axes: ", histogram.x_name, "; ",
                                  histogram.y_name, ". Bars:");
  for (const Histogram::Series& series : histogram.series) {
    absl::StrAppend(&text, " ", series.name, ".");
  }
  return text;
}

}  // namespace

std::string Figure(ForestPlot plot, absl::string_view caption) {
  const TextAlternative alternative = {plot.title, Describe(plot)};
  plot.title = Shorten(plot.title, kMostTitle);
  size_t names = 0;
  size_t notes = 0;
  for (ForestPlot::Row& row : plot.rows) {
    row.name = Shorten(row.name, kMostName);
    row.note = Shorten(row.note, kMostNote);
    names = std::max(names, CountCharacters(row.name));
    notes = std::max(notes, CountCharacters(row.note));
  }
  const double name_width = kNameCharacter * static_cast<double>(names) + kGap;
  const double note_width = kNoteCharacter * static_cast<double>(notes) + kGap;
  const Panel panel = {name_width + 4, 52, kWidth - name_width - note_width - 4,
                       ForestHeight(plot)};
  Svg svg(kWidth, panel.y + panel.height + 48, alternative);
  DrawForestPlot(plot, panel, name_width, &svg);
  return WithCaption(std::move(svg), caption);
}

std::string Figure(BandChart chart, absl::string_view caption) {
  const TextAlternative alternative = {chart.title, Describe(chart)};
  chart.title = Shorten(chart.title, kMostTitle);
  for (BandChart::Series& series : chart.series) {
    series.name = Shorten(series.name, kMostLegendName);
  }
  const Panel panel = {kLeft, 32, kWidth - kLeft - kRight, kHeight};
  const double legend = BandChartLegendHeight(chart, panel.width);
  Svg svg(kWidth, panel.y + panel.height + 50 + legend, alternative);
  DrawBandChart(chart, panel, &svg);
  return WithCaption(std::move(svg), caption);
}

std::string Figure(Histogram histogram, absl::string_view caption) {
  const TextAlternative alternative = {histogram.title, Describe(histogram)};
  histogram.title = Shorten(histogram.title, kMostTitle);
  const Panel panel = {kLeft, 32, kWidth - kLeft - kRight, kHeight};
  const double legend = HistogramLegendHeight(histogram, panel.width);
  Svg svg(kWidth, panel.y + panel.height + 50 + legend, alternative);
  DrawHistogram(histogram, panel, &svg);
  return WithCaption(std::move(svg), caption);
}

std::string Figures(const std::vector<std::string>& html_blocks) {
  std::string html;
  for (const std::string& block : html_blocks) {
    if (!block.empty()) absl::StrAppend(&html, block, "\n");
  }
  if (html.empty()) return "";
  return Element("div", html, "class=\"figures\"") + "\n";
}

}  // namespace sortition
