#include "process/drawing/legend.h"

#include <array>

#include "process/drawing/panel.h"
#include "process/drawing/xml_text.h"

namespace sortition {
namespace {

constexpr double kRowHeight = 18;
constexpr double kSwatch = 24;
constexpr double kGap = 8;
constexpr double kCharacter = 6.3;  // Width at kSmallSize, rather too much.

// Returns the upper left corner of each entry, from {0, 0}.
std::vector<Point> Corners(const std::vector<LegendEntry>& entries,
                           double width) {
  std::vector<Point> corners;
  Point next = {0, 0};
  for (const LegendEntry& entry : entries) {
    const double needed =
        kSwatch + 2 * kGap +
        kCharacter * static_cast<double>(CountCharacters(entry.name));
    if (next.x > 0 && next.x + needed > width) {
      next = {0, next.y + kRowHeight};
    }
    corners.push_back(next);
    next.x += needed;
  }
  return corners;
}

}  // namespace

absl::string_view Dashes(size_t index) {
  constexpr std::array<absl::string_view, 4> kDashes = {"", "7 3", "2 3",
                                                        "9 3 2 3"};
  return kDashes[index % kDashes.size()];
}

double LegendHeight(const std::vector<LegendEntry>& entries, double width) {
  return entries.empty() ? 0 : Corners(entries, width).back().y + kRowHeight;
}

void DrawLegend(const std::vector<LegendEntry>& entries, Point corner,
                double width, Svg* svg) {
  const std::vector<Point> corners = Corners(entries, width);
  for (size_t i = 0; i < entries.size(); ++i) {
    const LegendEntry& entry = entries[i];
    const Point at = {corner.x + corners[i].x,
                      corner.y + corners[i].y + kRowHeight / 2};
    if (entry.line) {
      svg->Line(at, {at.x + kSwatch, at.y},
                {.stroke = entry.colour, .width = 2, .dashes = entry.dashes});
    } else {
      svg->Rectangle({at.x + kSwatch - 12, at.y - 6}, 12, 12,
                     {.fill = entry.colour});
    }
    svg->Text({at.x + kSwatch + kGap / 2, at.y + 4}, entry.name,
              {.size = kSmallSize});
  }
}

}  // namespace sortition
