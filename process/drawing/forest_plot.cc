#include "process/drawing/forest_plot.h"

#include <algorithm>
#include <cmath>

#include "process/drawing/axis.h"

namespace sortition {
namespace {

constexpr double kForestRowHeight = 21;
constexpr absl::string_view kGrid = "#e4e4e4";

class ForestDrawing {
 public:
  ForestDrawing(const ForestPlot& plot, const Panel& panel, double name_width,
                Svg* svg)
      : plot_(plot), panel_(panel), name_x_(panel.x - name_width), svg_(svg) {
    std::vector<double> core;
    std::vector<double> others;
    for (const ForestPlot::Level& level : plot.levels) core.push_back(level.at);
    for (const ForestPlot::Row& row : plot.rows) {
      if (!row.estimate) continue;
      std::vector<double>* const values = row.marked ? &core : &others;
      values->insert(values->end(), {row.estimate->value, row.estimate->lower,
                                     row.estimate->upper});
    }
    const Range range = RangeAround(core, others);
    x_ = MakeScale(range.low, range.high, panel.x, panel.x + panel.width);
  }

  void Draw() const {
    DrawTitle(plot_.title, {name_x_, panel_.y - 30}, svg_);
    const Axis axis = {plot_.x_name, x_, NumberTicks(x_)};
    for (const Tick& tick : axis.ticks) {
      svg_->Line({x_(tick.at), panel_.y}, {x_(tick.at), Bottom()},
                 {.stroke = kGrid});
    }
    DrawFrame(panel_, svg_);
    DrawXAxis(axis, panel_, svg_);
    for (const ForestPlot::Level& level : plot_.levels) DrawLevel(level);
    for (size_t i = 0; i < plot_.rows.size(); ++i) DrawRow(plot_.rows[i], i);
  }

 private:
  double Bottom() const { return panel_.y + panel_.height; }
  double Right() const { return panel_.x + panel_.width; }

  void DrawLevel(const ForestPlot::Level& level) const {
    if (!InRange(level.at)) return;
    const double x = x_(level.at);
    svg_->Line({x, panel_.y}, {x, Bottom()}, {.stroke = kInk, .dashes = "4 3"});
    svg_->Text({x, panel_.y - 6}, level.name,
               {.size = kSmallSize, .anchor = Svg::Anchor::kMiddle});
  }

  void DrawRow(const ForestPlot::Row& row, size_t i) const {
    const double height =
        panel_.height / static_cast<double>(plot_.rows.size());
    const double y = panel_.y + height * (static_cast<double>(i) + 0.5);
    const bool bold = row.marked || !row.estimate;
    svg_->Text({name_x_, y + 4}, row.name, {.bold = bold});
    if (!row.note.empty()) {
      svg_->Text({Right() + 8, y + 4}, row.note, {.size = kSmallSize});
    }
    if (!row.estimate) return;
    DrawInterval(row, y);
    if (InRange(row.estimate->value)) DrawValue(row, y);
  }

  bool InRange(double value) const {
    return value >= x_.low && value <= x_.high;  // False for NaN.
  }

  void DrawInterval(const ForestPlot::Row& row, double y) const {
    const auto& [value, lower, upper] = *row.estimate;
    if (std::isnan(lower) || std::isnan(upper)) return;
    const double from = x_(std::clamp(lower, x_.low, x_.high));
    const double to = x_(std::clamp(upper, x_.low, x_.high));
    const Svg::Style style = {.stroke = Colour(row.group),
                              .width = row.marked ? 3.0 : 1.5};
    svg_->Line({from, y}, {to, y}, style);
    DrawEnd({from, y}, InRange(lower), -1, row.group);
    DrawEnd({to, y}, InRange(upper), 1, row.group);
  }

  // `outwards` is -1 on the left and 1 on the right.
  void DrawEnd(Point at, bool in_range, double outwards, size_t group) const {
    if (in_range) {
      svg_->Line({at.x, at.y - 5}, {at.x, at.y + 5},
                 {.stroke = Colour(group), .width = 1.5});
      return;
    }
    // It points out of the panel, on whichever side of it the interval is.
    const double direction = at.x <= panel_.x  ? -1
                             : at.x >= Right() ? 1
                                               : outwards;
    svg_->Polygon({{at.x, at.y},
                   {at.x - 8 * direction, at.y - 5},
                   {at.x - 8 * direction, at.y + 5}},
                  {.fill = Colour(group)});
  }

  void DrawValue(const ForestPlot::Row& row, double y) const {
    const Point at = {x_(row.estimate->value), y};
    if (row.marked) {
      svg_->Diamond(at, 6, {.fill = Colour(row.group), .stroke = kInk});
    } else {
      svg_->Circle(at, 3, {.fill = Colour(row.group)});
    }
  }

  const ForestPlot& plot_;
  const Panel panel_;
  const double name_x_;
  Svg* const svg_;
  Scale x_;
};

}  // namespace

double ForestHeight(const ForestPlot& plot) {
  return kForestRowHeight * static_cast<double>(plot.rows.size());
}

void DrawForestPlot(const ForestPlot& plot, const Panel& panel,
                    double name_width, Svg* svg) {
  ForestDrawing(plot, panel, name_width, svg).Draw();
}

}  // namespace sortition
