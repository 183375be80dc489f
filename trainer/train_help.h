#pragma once
// What `train --help` prints: train has more options than one learner uses.
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sortition {

// Returns the text that the arguments of `train` ask for; nothing if they do
// not ask for help. --help alone: the common options and the learners.
// --help=NAME, or --help with --learner=NAME: what that learner uses.
// --help=all: everything. Usage error for another name.
absl::StatusOr<std::optional<std::string>> TrainHelpFor(
    const std::vector<std::string>& arguments);

}  // namespace sortition
