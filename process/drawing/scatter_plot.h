#pragma once
// Points of several groups in a plane, with axes.
#include <cstddef>
#include <string>
#include <vector>

#include "process/drawing/panel.h"

namespace sortition {

struct ScatterPlot {
  struct Dot {
    Point place;
    size_t group = 0;   // The colour, as Colour() has it.
    std::string label;  // Empty: none.
  };

  std::string title;
  std::string x_name;
  std::string y_name;
  std::vector<Dot> dots;
  // By group: a place that is marked by a diamond.
  std::vector<Point> marks;
};

// Requires at least one dot or mark. The more dots, the smaller. Labels stand
// where they meet neither a dot nor another label, as far as there is room.
void DrawScatterPlot(const ScatterPlot& plot, const Panel& panel, Svg* svg);

}  // namespace sortition
