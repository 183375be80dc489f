#pragma once
// Says which colour is what.
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "process/drawing/svg.h"

namespace sortition {

struct LegendEntry {
  std::string name;
  absl::string_view colour;
  bool line = true;  // Otherwise a box.
  absl::string_view dashes = "";
};

// Returns the dashes of the line of the `index`-th of several things, which
// then differ without colours too; empty for the first.
absl::string_view Dashes(size_t index);

// Returns the height of a legend that is as wide as `width`. Widths of names
// are estimated from their numbers of characters.
double LegendHeight(const std::vector<LegendEntry>& entries, double width);
// Draws the entries in rows. `corner` is the upper left one.
void DrawLegend(const std::vector<LegendEntry>& entries, Point corner,
                double width, Svg* svg);

}  // namespace sortition
