#pragma once
// Pictures as SVG 1.1, self-contained: text in any sans-serif font, no scripts,
// nothing to load.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace sortition {

// Text as XML has it: & < > " ' as entities; what XML 1.0 forbids (control
// characters, bytes that are no UTF-8) as U+FFFD.
std::string EscapeXml(absl::string_view text);

// Cut to so many characters (code points), the last then an ellipsis.
std::string Shorten(absl::string_view text, size_t most);

struct Point {
  double x;
  double y;
};

// Shapes are drawn in the order of the calls, in pixels from the top left.
class Svg {
 public:
  enum class Anchor { kStart, kMiddle, kEnd };
  struct TextStyle {
    double size = 12;
    Anchor anchor = Anchor::kStart;
    absl::string_view fill = "#222222";
    bool bold = false;
    bool upwards = false;  // Turned to be read from below to above.
  };
  struct Style {
    absl::string_view fill = "none";
    absl::string_view stroke = "none";
    double width = 1;  // Of the stroke.
    double opacity = 1;
  };

  Svg(double width, double height);

  void Line(Point from, Point to, const Style& style);
  void Polyline(const std::vector<Point>& points, const Style& style);
  void Rectangle(Point corner, double width, double height, const Style& style);
  void Circle(Point centre, double radius, const Style& style);
  void Diamond(Point centre, double radius, const Style& style);
  // `at`: baseline.
  void Text(Point at, absl::string_view text, const TextStyle& style);

  // The whole document.
  std::string Finish() &&;

 private:
  std::string text_;
};

// Colour of the `index`-th of several things that must be told apart; they
// repeat after 10 [Okabe and Ito's, and others that differ in lightness].
absl::string_view Colour(size_t index);

// From white (0) to dark (1), "#rrggbb".
std::string Shade(double share);

// Between 3 and 9 round numbers in [low, high]; low where they are equal.
std::vector<double> Ticks(double low, double high);

}  // namespace sortition
