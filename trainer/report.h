#pragma once
// Formats what a training run found, for people and for programs.
#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "sortition/config/v1/train_report.pb.h"

namespace sortition {

// Returns the tables that `train` prints; a '*' marks the chosen grid point.
std::string FormatReport(const config::v1::TrainReport& report);

// Returns the lines that say which features were drafted and which columns are
// not read; "" if there is nothing to say.
std::string FormatFeatures(const config::v1::TrainReport& report);

// Returns a report as JSON, with the proto's field names and 0 for unset
// numbers.
absl::StatusOr<std::string> ReportToJson(
    const google::protobuf::Message& report);

}  // namespace sortition
