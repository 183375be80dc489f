#pragma once
// Reads the options of a program: a proto2 message from a text file, overridden
// by flags. Help, ranges and required fields come from the option's own
// declaration (sortition/config/v1/option.proto).
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace sortition {

struct CommandLine {
  bool help = false;                    // --help was given.
  std::vector<std::string> positional;  // Arguments that are not flags.
};

// Fills `options` from `arguments` (without program name): --config=FILE first
// (a text proto of that message), then every --path.to.field=value (also
// --path.to.field value; --flag and --no-flag for booleans; repeated fields
// append, as do texts that are lists separated by commas, and together replace
// what the file says; numbers also as a comma list; sizes and durations also
// with units, process/options/units.h; a sub-message's field may go by the end
// of its path where no other ends so, as in --server for --client.server). Then
// checks ranges and required fields (not with --help). InvalidArgument names
// flag, value and permitted range; for an unknown flag, the nearest known one;
// for an ambiguous one, all that it could be. Of a oneof, only one member may
// be set.
absl::Status ParseOptions(const std::vector<std::string>& arguments,
                          google::protobuf::Message* options,
                          CommandLine* command_line);

// Returns one entry per option: flag, help, default, range; grouped by
// sub-message.
std::string OptionsHelp(const google::protobuf::Descriptor* descriptor);

// Checks ranges and required fields alone. Messages name the path of the field.
absl::Status ValidateOptions(const google::protobuf::Message& options);

}  // namespace sortition
