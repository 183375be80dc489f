#pragma once
// Formats what training from labelled queries found.
#include <string>

#include "sortition/config/v1/train_report.pb.h"

namespace sortition {

// Returns the tables that `train` prints. Requires report.has_labelled().
std::string FormatLabelledReport(const config::v1::TrainReport& report);

}  // namespace sortition
