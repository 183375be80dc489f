#include "bench/clicks/pictures.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "io/files.h"
#include "process/drawing/svg.h"

namespace sortition {

absl::Status WritePicture(const BandChart& chart, const std::string& dir,
                          const std::string& name) {
  if (dir.empty()) return absl::OkStatus();
  constexpr Panel kPanel{60, 40, 600, 320};
  Svg svg(700, kPanel.y + kPanel.height + 60 +
                   BandChartLegendHeight(chart, kPanel.width));
  DrawBandChart(chart, kPanel, &svg);
  return WriteFile(absl::StrCat(dir, "/", name, ".svg"),
                   std::move(svg).Finish());
}

}  // namespace sortition
