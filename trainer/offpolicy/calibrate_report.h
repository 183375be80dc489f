#pragma once
// What `calibrate` prints.
#include <string>

#include "sortition/config/v1/trainer.pb.h"

namespace sortition {

// The rate that was looked for and the table; the calibrated row has a '*'.
std::string FormatCalibration(const config::v1::CalibrateReport& report);

}  // namespace sortition
