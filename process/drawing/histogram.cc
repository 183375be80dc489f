#include "process/drawing/histogram.h"

#include <algorithm>
#include <cmath>

#include "process/drawing/axis.h"
#include "process/drawing/legend.h"

namespace sortition {
namespace {

std::vector<LegendEntry> Legend(const Histogram& histogram) {
  std::vector<LegendEntry> entries;
  for (size_t s = 0; s < histogram.series.size(); ++s) {
    entries.push_back(
        {.name = histogram.series[s].name, .colour = Colour(s), .line = false});
  }
  return entries;
}

double Tallest(const Histogram& histogram) {
  double tallest = 0;
  for (const Histogram::Series& series : histogram.series) {
    for (const double height : series.heights) {
      if (std::isfinite(height)) tallest = std::max(tallest, height);
    }
  }
  return tallest;
}

}  // namespace

double HistogramLegendHeight(const Histogram& histogram, double width) {
  return LegendHeight(Legend(histogram), width);
}

void DrawHistogram(const Histogram& histogram, const Panel& panel, Svg* svg) {
  const std::vector<double>& edges = histogram.log10_edges;
  const double tallest = Tallest(histogram);
  const Scale x =
      MakeScale(edges.front(), edges.back(), panel.x, panel.x + panel.width);
  const Scale y = {0, tallest > 0 ? 1.05 * tallest : 1, panel.y + panel.height,
                   panel.y};
  DrawTitle(histogram.title, {panel.x, panel.y - 12}, svg);
  DrawXAxis({histogram.x_name, x, LogTicks(x)}, panel, svg);
  DrawYAxis({histogram.y_name, y, NumberTicks(y)}, panel, svg);
  const auto bars = static_cast<double>(histogram.series.size());
  for (size_t s = 0; s < histogram.series.size(); ++s) {
    const std::vector<double>& heights = histogram.series[s].heights;
    for (size_t b = 0; b < heights.size() && b + 1 < edges.size(); ++b) {
      if (!(heights[b] > 0) || !std::isfinite(heights[b])) continue;
      // A gap of a tenth parts the bins.
      const double width = 0.9 * (x(edges[b + 1]) - x(edges[b])) / bars;
      svg->Rectangle(
          {x(edges[b]) + width * static_cast<double>(s), y(heights[b])}, width,
          y(0) - y(heights[b]), {.fill = Colour(s)});
    }
  }
  DrawFrame(panel, svg);
  DrawLegend(Legend(histogram), {panel.x, panel.y + panel.height + 46},
             panel.width, svg);
}

}  // namespace sortition
