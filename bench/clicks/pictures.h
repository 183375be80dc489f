#pragma once
// Pictures of the results.
#include <string>

#include "absl/status/status.h"
#include "process/drawing/band_chart.h"

namespace sortition {

// Writes the chart as SVG to DIR/NAME.svg; does nothing if `dir` is empty.
// Errors as WriteFile().
absl::Status WritePicture(const BandChart& chart, const std::string& dir,
                          const std::string& name);

}  // namespace sortition
