#include "process/drawing/scatter_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "process/drawing/axis.h"
#include "process/drawing/scale.h"

namespace sortition {
namespace {

// A label meets what is nearer to its middle.
constexpr double kLabelWidth = 15;
constexpr double kLabelHeight = 11;
// Places around a dot that a label tries, from the nearest ring outwards.
constexpr int kDirections = 8;
constexpr int kRings = 6;

class ScatterDrawing {
 public:
  ScatterDrawing(const ScatterPlot& plot, const Panel& panel, Svg* svg)
      : plot_(plot), panel_(panel), svg_(svg) {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    Point low = {kInf, kInf};
    Point high = {-kInf, -kInf};
    const auto extend = [&](const Point& point) {
      low = {std::min(low.x, point.x), std::min(low.y, point.y)};
      high = {std::max(high.x, point.x), std::max(high.y, point.y)};
    };
    for (const ScatterPlot::Dot& dot : plot.dots) extend(dot.place);
    for (const Point& mark : plot.marks) extend(mark);
    x_ = MakeScale(low.x, high.x, panel.x, panel.x + panel.width);
    y_ = MakeScale(low.y, high.y, panel.y + panel.height, panel.y);
  }

  void Draw() const {
    DrawTitle(plot_.title, {panel_.x, panel_.y - 12}, svg_);
    DrawAxes();
    const size_t n = plot_.dots.size();
    const double radius = n <= 50 ? 6 : n <= 500 ? 3.5 : 2;
    for (const ScatterPlot::Dot& dot : plot_.dots) {
      svg_->Circle(At(dot.place), radius,
                   {.fill = Colour(dot.group), .opacity = n <= 50 ? 1 : 0.6});
    }
    for (size_t group = 0; group < plot_.marks.size(); ++group) {
      svg_->Diamond(At(plot_.marks[group]), 8,
                    {.fill = Colour(group), .stroke = "#000000", .width = 1.5});
    }
    DrawLabels();
  }

 private:
  Point At(const Point& place) const { return {x_(place.x), y_(place.y)}; }

  void DrawAxes() const {
    DrawFrame(panel_, svg_);
    DrawXAxis({plot_.x_name, x_, NumberTicks(x_)}, panel_, svg_);
    DrawYAxis({plot_.y_name, y_, NumberTicks(y_)}, panel_, svg_);
  }

  void DrawLabels() const {
    std::vector<Point> taken;
    for (const ScatterPlot::Dot& dot : plot_.dots) {
      taken.push_back(At(dot.place));
    }
    for (const ScatterPlot::Dot& dot : plot_.dots) {
      if (dot.label.empty()) continue;
      const Point place = FreePlace(At(dot.place), taken);
      taken.push_back(place);
      svg_->Text({place.x, place.y + 4}, dot.label,
                 {.size = kSmallSize,
                  .anchor = Svg::Anchor::kMiddle,
                  .fill = Colour(dot.group)});
    }
  }

  // Returns a place near `centre` that meets none of `taken`, or the last one
  // tried.
  static Point FreePlace(const Point& centre, const std::vector<Point>& taken) {
    Point place = centre;
    for (int step = 0; step < kDirections * kRings; ++step) {
      const double angle = 0.25 * M_PI * (step % kDirections) - 0.25 * M_PI;
      const int ring = step / kDirections;
      const double away = 14 + 10 * ring;
      place = {centre.x + away * std::cos(angle),
               centre.y + away * std::sin(angle)};
      if (std::none_of(taken.begin(), taken.end(), [&](const Point& other) {
            return std::abs(other.x - place.x) < kLabelWidth &&
                   std::abs(other.y - place.y) < kLabelHeight;
          })) {
        break;
      }
    }
    return place;
  }

  const ScatterPlot& plot_;
  const Panel panel_;
  Svg* const svg_;
  Scale x_;
  Scale y_;
};

}  // namespace

void DrawScatterPlot(const ScatterPlot& plot, const Panel& panel, Svg* svg) {
  ScatterDrawing(plot, panel, svg).Draw();
}

}  // namespace sortition
