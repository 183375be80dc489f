#pragma once
// Estimates with their intervals below each other, on one axis.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "process/drawing/panel.h"

namespace sortition {

struct ForestPlot {
  struct Estimate {
    double value;
    double lower;
    double upper;
  };
  struct Row {
    std::string name;
    std::optional<Estimate> estimate;  // Nothing: the row is a heading.
    std::string note = {};             // Stands on the right.
    size_t group = 0;                  // The colour, as Colour() has it.
    bool marked = false;
  };
  // A vertical line.
  struct Level {
    double at;
    std::string name;
  };

  std::string title = {};
  std::string x_name = {};
  std::vector<Row> rows = {};
  std::vector<Level> levels = {};
};

// Returns the height of a panel for this plot.
double ForestHeight(const ForestPlot& plot);

// The panel needs `name_width` pixels on its left for names, as many as its
// owner wants on its right for notes, 50 above and 45 below. Numbers may be
// infinite or NaN: what is unknown is not drawn, and an interval that leaves
// the panel ends in an arrow. The axis shows all levels and marked rows, and as
// much of the others as RangeAround() says.
void DrawForestPlot(const ForestPlot& plot, const Panel& panel,
                    double name_width, Svg* svg);

}  // namespace sortition
