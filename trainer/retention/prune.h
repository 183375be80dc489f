#pragma once
// sortition-trainer prune: removes old versions that nothing needs any more.
#include <string>

#include "absl/status/statusor.h"
#include "sortition/config/v1/prune.pb.h"

namespace sortition {

// InvalidArgument for options that are out of range whatever the store has.
absl::Status ValidatePruneOptions(const config::v1::PruneOptions& options);

// Keeps the newest versions, what serves (pinned, or the newest that loads),
// what SERVING.textproto names or protects, and what the log names. While it
// removes, nobody changes what serves. InvalidArgument, NotFound: an option.
// FailedPrecondition: one of options.versions() is in use; then nothing is
// removed, and the message says by what, and what to do instead. Errors as
// ReadServing(): without it nothing says what serves.
absl::StatusOr<config::v1::PruneReport> Prune(
    const config::v1::PruneOptions& options);

// Lists the versions, and why each of them stays.
std::string FormatPruneReport(const config::v1::PruneReport& report);

}  // namespace sortition
