#pragma once
// A matrix of shares, each cell shaded by its value.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "process/drawing/panel.h"

namespace sortition {

struct HeatMap {
  struct Row {
    std::string name;
    absl::string_view colour = kInk;  // Colour of the name.
    // One for each column, in [0, 1]; written as a percentage, or as "-" where
    // there is none.
    std::vector<std::optional<double>> shares;
  };

  std::string title;
  std::vector<Heading> columns;
  std::vector<Row> rows;
};

// Cells fill `panel` from its upper left; few of them leave some of it empty.
void DrawHeatMap(const HeatMap& map, const Panel& panel, Svg* svg);

}  // namespace sortition
