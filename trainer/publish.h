#pragma once
// Publishes a model that exists already: an older version again, or one of
// another store.
#include <string>

#include "absl/status/statusor.h"
#include "sortition/config/v1/publish.pb.h"

namespace sortition {

// No gate compares the model with the version that it replaces.
// InvalidArgument, NotFound, DataLoss or FailedPrecondition name the option or
// the file, and what is wrong; nothing is published then.
absl::StatusOr<config::v1::PublishModelReport> PublishAgain(
    const config::v1::PublishModelOptions& options);

// Says in a sentence what was published.
std::string FormatPublishReport(const config::v1::PublishModelReport& report);

}  // namespace sortition
