#pragma once
// The subcommands of `sortition`; docs/cli.md has an example of each.
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/client.h"
#include "client/command.h"
#include "sortition/config/v1/client.pb.h"

namespace sortition {

using Arguments = std::vector<std::string>;

absl::Status RunRank(const config::v1::DecideOptions& options,
                     const Arguments& positional, CommandOutput* output);
absl::Status RunSelect(const config::v1::DecideOptions& options,
                       const Arguments& positional, CommandOutput* output);
absl::Status RunLabel(const config::v1::DecideOptions& options,
                      const Arguments& positional, CommandOutput* output);
absl::Status RunAggregate(const config::v1::AggregateOptions& options,
                          const Arguments& positional, CommandOutput* output);
absl::Status RunShown(const config::v1::ShownOptions& options,
                      const Arguments& positional, CommandOutput* output);
absl::Status RunFeedback(const config::v1::FeedbackOptions& options,
                         const Arguments& positional, CommandOutput* output);
absl::Status RunModelsList(const config::v1::ModelsListOptions& options,
                           const Arguments& positional, CommandOutput* output);
absl::Status RunWorld(const config::v1::WorldCommandOptions& options,
                      const Arguments& positional, CommandOutput* output);
absl::Status RunSimulate(const config::v1::SimulateOptions& options,
                         const Arguments& positional, CommandOutput* output);
absl::Status RunLogCat(const config::v1::LogOptions& options,
                       const Arguments& positional, CommandOutput* output);
absl::Status RunLogStats(const config::v1::LogOptions& options,
                         const Arguments& positional, CommandOutput* output);
absl::Status RunLogVerify(const config::v1::LogOptions& options,
                          const Arguments& positional, CommandOutput* output);

// All of the above, in the order of the help.
std::vector<Command> AllCommands();

// A client as the flags say.
absl::StatusOr<std::unique_ptr<Client>> ConnectClient(
    const config::v1::ClientOptions& options);

// The same status with the server's address in its message.
absl::Status AtServer(const config::v1::ClientOptions& options,
                      const absl::Status& status);

// One-line JSON form of a message, field names as in the proto.
std::string MessageJson(const google::protobuf::Message& message);

}  // namespace sortition
