#include "process/drawing/panel.h"

namespace sortition {

void DrawTitle(absl::string_view title, Point at, Svg* svg) {
  svg->Text(at, title, {.size = kTitleSize, .bold = true});
}

void DrawHeading(const Heading& heading, Point bottom, Svg* svg) {
  svg->Text(
      {bottom.x, bottom.y - 18}, heading.name,
      {.anchor = Svg::Anchor::kMiddle, .fill = heading.colour, .bold = true});
  svg->Text({bottom.x, bottom.y - 4}, heading.note,
            {.size = heading.note_size, .anchor = Svg::Anchor::kMiddle});
}

}  // namespace sortition
