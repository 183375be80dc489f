#include "process/drawing/bump_chart.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

constexpr double kLineHeight = 26;
// The place in the first column from which on colours get no lighter.
constexpr double kLightestPlace = 14;

class BumpDrawing {
 public:
  BumpDrawing(const BumpChart& chart, const Panel& panel, Svg* svg)
      : chart_(chart), panel_(panel), svg_(svg) {
    for (size_t c = 0; c < chart.columns.size(); ++c) {
      places_.push_back(Places(c));
    }
  }

  void Draw() const {
    DrawTitle(chart_.title, {panel_.x - 60, panel_.y - 38}, svg_);
    for (size_t c = 0; c < places_.size(); ++c) {
      DrawHeading(chart_.columns[c], {X(c), panel_.y + 4}, svg_);
    }
    for (size_t i = 0; i < chart_.items.size(); ++i) DrawLine(i);
    for (size_t i = 0; i < chart_.items.size(); ++i) DrawNodes(i);
  }

 private:
  // Returns the place of each item among those of the chart.
  std::vector<size_t> Places(size_t column) const {
    const auto& items = chart_.items;
    std::vector<size_t> places;
    for (const BumpChart::Item& item : items) {
      places.push_back(std::count_if(
          items.begin(), items.end(), [&](const BumpChart::Item& other) {
            return other.ranks[column] < item.ranks[column];
          }));
    }
    return places;
  }

  double X(size_t column) const {
    if (places_.size() == 1) return panel_.x + panel_.width / 2;
    return panel_.x + 50 +
           (panel_.width - 130) * static_cast<double>(column) /
               static_cast<double>(places_.size() - 1);
  }
  double Y(size_t column, size_t i) const {
    return panel_.y + 24 +
           kLineHeight * static_cast<double>(places_[column][i]);
  }

  std::string LineColour(size_t i) const {
    return Fade(static_cast<double>(places_[0][i]) / kLightestPlace);
  }

  void DrawLine(size_t i) const {
    std::vector<Point> points;
    for (size_t c = 0; c < places_.size(); ++c) {
      points.push_back({X(c), Y(c, i)});
    }
    svg_->Polyline(points, {.stroke = LineColour(i), .width = 2.5});
  }

  void DrawNodes(size_t i) const {
    const std::string colour = LineColour(i);
    const BumpChart::Item& item = chart_.items[i];
    for (size_t c = 0; c < places_.size(); ++c) {
      svg_->Circle({X(c), Y(c, i)}, 10,
                   {.fill = kPaper, .stroke = colour, .width = 2});
      svg_->Text({X(c), Y(c, i) + 4}, absl::StrCat(item.ranks[c]),
                 {.size = item.ranks[c] < 100 ? kSmallSize : 8.0,
                  .anchor = Svg::Anchor::kMiddle});
    }
    svg_->Text({X(0) - 18, Y(0, i) + 4}, item.name,
               {.anchor = Svg::Anchor::kEnd});
    if (places_.size() == 1) return;
    const size_t last = places_.size() - 1;
    svg_->Text({X(last) + 18, Y(last, i) + 4}, item.name, {});
  }

  const BumpChart& chart_;
  const Panel panel_;
  Svg* const svg_;
  std::vector<std::vector<size_t>> places_;  // By column, by item.
};

}  // namespace

void DrawBumpChart(const BumpChart& chart, const Panel& panel, Svg* svg) {
  BumpDrawing(chart, panel, svg).Draw();
}

}  // namespace sortition
