#pragma once
// The subcommands of `sortition` that send one request.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "process/command.h"
#include "sortition/config/v1/client.pb.h"

namespace sortition {

absl::Status RunRank(const config::v1::DecideOptions& options,
                     const std::vector<std::string>& positional,
                     CommandOutput* output);
absl::Status RunSelect(const config::v1::DecideOptions& options,
                       const std::vector<std::string>& positional,
                       CommandOutput* output);
absl::Status RunLabel(const config::v1::DecideOptions& options,
                      const std::vector<std::string>& positional,
                      CommandOutput* output);
absl::Status RunAggregate(const config::v1::AggregateOptions& options,
                          const std::vector<std::string>& positional,
                          CommandOutput* output);
absl::Status RunShown(const config::v1::ShownOptions& options,
                      const std::vector<std::string>& positional,
                      CommandOutput* output);
absl::Status RunFeedback(const config::v1::FeedbackOptions& options,
                         const std::vector<std::string>& positional,
                         CommandOutput* output);

}  // namespace sortition
