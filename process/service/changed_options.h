#pragma once
// What somebody has changed in a program's options since it started.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"

namespace sortition {

// Reads the options again from the same arguments and files. Returns the names
// of those whose values are not those of `in_force`, in order of declaration.
// InvalidArgument as ParseOptions().
absl::StatusOr<std::vector<std::string>> ChangedOptions(
    const std::vector<std::string>& arguments,
    const google::protobuf::Message& in_force);

// Logs which options have changed, because only a restart takes them up, or why
// they cannot be read. Nothing where none has.
void LogChangedOptions(const std::vector<std::string>& arguments,
                       const google::protobuf::Message& in_force);

}  // namespace sortition
