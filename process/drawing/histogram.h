#pragma once
// Bars over the bins of an axis.
#include <string>
#include <vector>

#include "process/drawing/panel.h"

namespace sortition {

struct Histogram {
  struct Series {
    std::string name;
    std::vector<double> heights = {};  // By bin, at least 0.
  };

  std::string title = {};
  std::string x_name = {};
  std::string y_name = {};
  // The ends of the bins, ascending: one more than bins, decimal logarithms.
  std::vector<double> log10_edges = {};
  // The bars of a bin stand beside each other.
  std::vector<Series> series = {};
};

// Returns the height of the legend, which stands below the panel.
double HistogramLegendHeight(const Histogram& histogram, double width);

// Requires at least two finite edges. The panel needs 60 pixels on its left, 20
// above, and 50 and the legend below. Bars whose height is not finite are left
// out.
void DrawHistogram(const Histogram& histogram, const Panel& panel, Svg* svg);

}  // namespace sortition
