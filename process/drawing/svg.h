#pragma once
// Writes pictures as SVG 1.1. A picture is self-contained: text in any
// sans-serif font, no scripts, nothing to load. The same calls give the same
// bytes. Places must be finite.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace sortition {

struct Point {
  double x;
  double y;
};

// What a picture says to readers who do not see it.
struct TextAlternative {
  std::string title;
  std::string description;
};

// Draws shapes in the order of the calls, later ones on top. Places are in
// pixels from the top left.
class Svg {
 public:
  enum class Anchor { kStart, kMiddle, kEnd };
  struct TextStyle {
    double size = 12;
    Anchor anchor = Anchor::kStart;
    absl::string_view fill = "#222222";
    bool bold = false;
    bool upwards = false;  // Rotated to be read from bottom to top.
  };
  struct Style {
    absl::string_view fill = "none";
    absl::string_view stroke = "none";
    double width = 1;  // Width of the stroke.
    double opacity = 1;
    absl::string_view dashes = "";  // Lengths of dashes and gaps; empty: none.
  };

  Svg(double width, double height);
  Svg(double width, double height, const TextAlternative& alternative);

  void Line(Point from, Point to, const Style& style);
  void Polyline(const std::vector<Point>& points, const Style& style);
  void Polygon(const std::vector<Point>& points, const Style& style);
  void Rectangle(Point corner, double width, double height, const Style& style);
  void Circle(Point centre, double radius, const Style& style);
  void Diamond(Point centre, double radius, const Style& style);
  // `at` lies on the baseline. The text is escaped.
  void Text(Point at, absl::string_view text, const TextStyle& style);

  // Returns the whole document.
  std::string Finish() &&;
  // Returns the element <svg> alone, as it may stand in a page.
  std::string FinishElement() &&;

 private:
  void Begin(double width, double height, absl::string_view attributes);
  void Shape(absl::string_view name, const std::vector<Point>& points,
             const Style& style);

  std::string text_;
};

}  // namespace sortition
