#pragma once
// What charts have in common: where they stand, their titles and headings.
#include <string>

#include "absl/strings/string_view.h"
#include "process/drawing/colours.h"
#include "process/drawing/svg.h"

namespace sortition {

// The rectangle that a chart's data fill; titles and names stand around it.
struct Panel {
  double x;
  double y;
  double width;
  double height;
};

inline constexpr double kTitleSize = 14;
inline constexpr double kSmallSize = 11;

// `at` lies on the baseline, at the start of the title.
void DrawTitle(absl::string_view title, Point at, Svg* svg);

// Names a column: two lines, centred.
struct Heading {
  std::string name;
  std::string note = {};
  absl::string_view colour = kInk;
  double note_size = kSmallSize;
};

// `bottom` is the middle of the column, at its upper end.
void DrawHeading(const Heading& heading, Point bottom, Svg* svg);

}  // namespace sortition
