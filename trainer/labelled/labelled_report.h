#pragma once
// What training from labelled queries found, for people.
#include <string>

#include "sortition/config/v1/train_report.pb.h"

namespace sortition {

// The tables that `train` prints. Requires report.has_labelled().
std::string FormatLabelledReport(const config::v1::TrainReport& report);

}  // namespace sortition
