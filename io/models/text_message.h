#pragma once
// Messages in text form, in files that people may edit.
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace sortition {

// Parses `text` into `message`. DataLoss says at which line and column of
// `path` what is wrong, and that it is no `what`.
absl::Status ParseTextMessage(const std::string& path, absl::string_view what,
                              const std::string& text,
                              google::protobuf::Message* message);

// The same for a file that the caller wrote, such as a FeatureSpec:
// InvalidArgument, which also names the field or value that is nearest to a
// misspelt one.
absl::Status ParseUserMessage(const std::string& path, absl::string_view what,
                              const std::string& text,
                              google::protobuf::Message* message);

}  // namespace sortition
