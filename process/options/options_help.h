#pragma once
// Parts of what OptionsHelp() returns, for commands with more options than one
// use of them needs.
#include <string>

#include "absl/functional/function_ref.h"
#include "google/protobuf/descriptor.h"
#include "process/options/option_fields.h"

namespace sortition {

// Returns the entries of the options that `is_shown` accepts, each group behind
// a heading of its own.
std::string OptionEntries(
    const google::protobuf::Descriptor* descriptor,
    absl::FunctionRef<bool(const internal::OptionField&)> is_shown);

// Returns what stands behind the entries: --config, --help, units, and how to
// write a config file.
std::string OptionsHelpEnd(const google::protobuf::Descriptor* descriptor);

}  // namespace sortition
