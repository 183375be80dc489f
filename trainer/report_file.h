#pragma once
// Writes reports as JSON files.
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace sortition {

// Checks that the file of an output option can be written, so that a bad path
// is found before hours of training and a published version. OK if `path` is
// empty; InvalidArgument if it is a directory; otherwise errors as WriteFile().
absl::Status CheckWritable(absl::string_view option, const std::string& path);

// Writes `report` as JSON to `path`, unless that is empty.
absl::Status WriteReport(const std::string& path,
                         const google::protobuf::Message& report);

}  // namespace sortition
