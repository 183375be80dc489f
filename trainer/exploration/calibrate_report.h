#pragma once
// Formats what `calibrate` prints.
#include <string>

#include "sortition/config/v1/calibrate.pb.h"

namespace sortition {

// Returns the target rate and the table, in which a '*' marks the calibrated
// row; then the table of explorations, if there is one.
std::string FormatCalibration(const config::v1::CalibrateReport& report);

}  // namespace sortition
