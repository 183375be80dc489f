#pragma once
// Charts as figures of a page, with what they say as text.
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "process/drawing/band_chart.h"
#include "process/drawing/forest_plot.h"
#include "process/drawing/histogram.h"

namespace sortition {

// The caption stands below the chart; it may be empty.
std::string Figure(ForestPlot plot, absl::string_view caption);
std::string Figure(BandChart chart, absl::string_view caption);
std::string Figure(Histogram histogram, absl::string_view caption);

// Returns figures, or other blocks, beside each other as far as there is room;
// empty ones are left out.
std::string Figures(const std::vector<std::string>& html_blocks);

}  // namespace sortition
