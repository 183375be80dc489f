#include "process/drawing/band_chart.h"

#include <algorithm>
#include <cmath>

#include "process/drawing/legend.h"

namespace sortition {
namespace {

constexpr absl::string_view kLevelDashes = "4 3";

std::vector<LegendEntry> Legend(const BandChart& chart) {
  std::vector<LegendEntry> entries;
  for (size_t i = 0; i < chart.series.size(); ++i) {
    entries.push_back({.name = chart.series[i].name,
                       .colour = Colour(i),
                       .dashes = Dashes(i)});
  }
  for (const BandChart::Level& level : chart.levels) {
    entries.push_back(
        {.name = level.name, .colour = kInk, .dashes = kLevelDashes});
  }
  return entries;
}

class BandDrawing {
 public:
  BandDrawing(const BandChart& chart, const Panel& panel, Svg* svg)
      : chart_(chart), panel_(panel), svg_(svg) {
    std::vector<double> places;
    std::vector<double> values;
    std::vector<double> ends;
    for (const BandChart::Level& level : chart.levels) {
      values.push_back(OnAxis(level.at));
    }
    for (const BandChart::Series& series : chart.series) {
      for (const BandChart::Spot& spot : series.spots) {
        places.push_back(OnAxis(spot.x));
        values.push_back(OnAxis(spot.value));
        ends.insert(ends.end(), {OnAxis(spot.lower), OnAxis(spot.upper)});
      }
    }
    const Range x = RangeAround(places, {});
    const Range y = RangeAround(values, ends);
    x_ = MakeScale(x.low, x.high, panel.x, panel.x + panel.width);
    y_ = MakeScale(y.low, y.high, panel.y + panel.height, panel.y);
  }

  void Draw() const {
    DrawTitle(chart_.title, {panel_.x, panel_.y - 12}, svg_);
    DrawFrame(panel_, svg_);
    const bool logarithmic = chart_.logarithmic;
    DrawXAxis({chart_.x_name, x_,
               !chart_.x_ticks.empty() ? chart_.x_ticks
               : logarithmic           ? LogTicks(x_)
                                       : NumberTicks(x_)},
              panel_, svg_);
    DrawYAxis({chart_.y_name, y_, logarithmic ? LogTicks(y_) : NumberTicks(y_)},
              panel_, svg_);
    for (const BandChart::Level& level : chart_.levels) DrawLevel(level);
    for (size_t i = 0; i < chart_.series.size(); ++i) DrawSeries(i);
    DrawLegend(Legend(chart_), {panel_.x, panel_.y + panel_.height + 46},
               panel_.width, svg_);
  }

 private:
  // A stretch of a line without a gap, in pixels.
  struct Stretch {
    std::vector<Point> line;
    std::vector<Point> upper;
    std::vector<Point> lower;
  };

  // The logarithm of what is not positive is not finite, so it is passed over.
  double OnAxis(double value) const {
    return chart_.logarithmic ? std::log10(value) : value;
  }
  double Y(double value) const {
    return y_(std::clamp(OnAxis(value), y_.low, y_.high));
  }

  void DrawLevel(const BandChart::Level& level) const {
    if (std::isnan(level.at)) return;
    svg_->Line({panel_.x, Y(level.at)}, {panel_.x + panel_.width, Y(level.at)},
               {.stroke = kInk, .dashes = kLevelDashes});
  }

  std::vector<Stretch> Stretches(const BandChart::Series& series) const {
    std::vector<Stretch> stretches;
    bool open = false;
    for (const BandChart::Spot& spot : series.spots) {
      const double x = OnAxis(spot.x);
      const bool known = std::isfinite(x) && std::isfinite(OnAxis(spot.value));
      if (known) {
        if (!open) stretches.emplace_back();
        Stretch& stretch = stretches.back();
        const bool band = !std::isnan(spot.lower) && !std::isnan(spot.upper);
        stretch.line.push_back({x_(x), Y(spot.value)});
        stretch.lower.push_back({x_(x), Y(band ? spot.lower : spot.value)});
        stretch.upper.push_back({x_(x), Y(band ? spot.upper : spot.value)});
      }
      open = known;
    }
    return stretches;
  }

  void DrawSeries(size_t i) const {
    const absl::string_view colour = Colour(i);
    for (const Stretch& stretch : Stretches(chart_.series[i])) {
      if (stretch.line.size() == 1) {
        svg_->Line(stretch.lower[0], stretch.upper[0],
                   {.stroke = colour, .width = 1.5});
      } else {
        DrawBand(stretch, colour);
        svg_->Polyline(stretch.line,
                       {.stroke = colour, .width = 2, .dashes = Dashes(i)});
      }
      for (const Point& place : stretch.line) {
        svg_->Circle(place, 2.5, {.fill = colour});
      }
    }
  }

  void DrawBand(const Stretch& stretch, absl::string_view colour) const {
    const bool has_band = !std::equal(
        stretch.lower.begin(), stretch.lower.end(), stretch.upper.begin(),
        [](const Point& a, const Point& b) { return a.y == b.y; });
    if (!has_band) return;
    std::vector<Point> outline = stretch.upper;
    outline.insert(outline.end(), stretch.lower.rbegin(), stretch.lower.rend());
    svg_->Polygon(outline, {.fill = colour, .opacity = 0.14});
    for (const auto* edge : {&stretch.upper, &stretch.lower}) {
      svg_->Polyline(*edge, {.stroke = colour, .width = 0.75, .opacity = 0.5});
    }
  }

  const BandChart& chart_;
  const Panel panel_;
  Svg* const svg_;
  Scale x_;
  Scale y_;
};

}  // namespace

double BandChartLegendHeight(const BandChart& chart, double width) {
  return LegendHeight(Legend(chart), width);
}

void DrawBandChart(const BandChart& chart, const Panel& panel, Svg* svg) {
  BandDrawing(chart, panel, svg).Draw();
}

}  // namespace sortition
