#pragma once
// Lines with bands around them: how values and their intervals change.
#include <string>
#include <vector>

#include "process/drawing/axis.h"
#include "process/drawing/panel.h"

namespace sortition {

struct BandChart {
  struct Spot {
    double x;
    double value;
    double lower;  // Both equal to `value`: no band.
    double upper;
  };
  struct Series {
    std::string name;
    std::vector<Spot> spots = {};  // By ascending x.
  };
  // A horizontal line.
  struct Level {
    double at;
    std::string name;
  };

  std::string title = {};
  std::string x_name = {};
  std::string y_name = {};
  std::vector<Series> series = {};
  std::vector<Level> levels = {};
  std::vector<Tick> x_ticks = {};  // Empty: numbers.
  bool logarithmic = false;        // Both axes; positive numbers only.
};

// Returns the height of the legend, which stands below the panel.
double BandChartLegendHeight(const BandChart& chart, double width);

// The panel needs 60 pixels on its left, 20 above, and 50 and the legend below.
// Numbers may be infinite or NaN: a line has a gap where its value is not
// finite, and a band ends at the edge. Bands may leave the panel, as
// RangeAround() says.
void DrawBandChart(const BandChart& chart, const Panel& panel, Svg* svg);

}  // namespace sortition
