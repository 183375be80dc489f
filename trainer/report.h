#pragma once
// What a training run found, for people and for programs.
#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "sortition/config/v1/train_report.pb.h"

namespace sortition {

// The tables that `train` prints; the chosen grid point is marked with '*'.
std::string FormatReport(const config::v1::TrainReport& report);

// A report as JSON, field names as in the proto, unset numbers as 0.
absl::StatusOr<std::string> ReportToJson(
    const google::protobuf::Message& report);

}  // namespace sortition
