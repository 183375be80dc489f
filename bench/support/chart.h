#pragma once
// Draws charts as SVG with gnuplot.
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace sortition {

struct Series {
  std::string name;
  std::vector<double> y;  // One for each x of the chart.
};

struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<double> x;
  bool logarithmic_x = true;  // Requires positive x.
  std::vector<Series> series;
};

// Writes `chart` to the file `path` and makes its directory. InvalidArgument if
// that cannot be made; Internal if gnuplot is missing or fails.
absl::Status DrawChart(const Chart& chart, const std::string& path);

// Runs a gnuplot script that writes `path`. Errors as DrawChart().
absl::Status RunGnuplot(const std::string& script, const std::string& path);

}  // namespace sortition
