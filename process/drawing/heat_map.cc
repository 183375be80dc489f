#include "process/drawing/heat_map.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace sortition {
namespace {

constexpr double kMostCellWidth = 90;
constexpr double kMostCellHeight = 30;

void DrawCell(std::optional<double> share, const Panel& cell, Svg* svg) {
  const double shade = share.value_or(0);
  svg->Rectangle({cell.x, cell.y}, cell.width, cell.height,
                 {.fill = Shade(shade), .stroke = kPaper});
  svg->Text({cell.x + cell.width / 2, cell.y + cell.height / 2 + 4},
            share.has_value() ? absl::StrFormat("%.0f %%", 100 * *share) : "-",
            {.size = kSmallSize,
             .anchor = Svg::Anchor::kMiddle,
             .fill = InkOnShade(shade)});
}

}  // namespace

void DrawHeatMap(const HeatMap& map, const Panel& panel, Svg* svg) {
  DrawTitle(map.title, {panel.x - 60, panel.y - 38}, svg);
  const double width = std::min(
      kMostCellWidth, panel.width / static_cast<double>(map.columns.size()));
  const double height = std::min(
      kMostCellHeight, panel.height / static_cast<double>(map.rows.size()));
  for (size_t c = 0; c < map.columns.size(); ++c) {
    DrawHeading(map.columns[c],
                {panel.x + width * (static_cast<double>(c) + 0.5), panel.y + 4},
                svg);
  }
  for (size_t r = 0; r < map.rows.size(); ++r) {
    const HeatMap::Row& row = map.rows[r];
    const double y = panel.y + 8 + height * static_cast<double>(r);
    svg->Text(
        {panel.x - 8, y + height / 2 + 4}, row.name,
        {.size = kSmallSize, .anchor = Svg::Anchor::kEnd, .fill = row.colour});
    for (size_t c = 0; c < row.shares.size(); ++c) {
      DrawCell(row.shares[c],
               {panel.x + width * static_cast<double>(c), y, width, height},
               svg);
    }
  }
}

}  // namespace sortition
