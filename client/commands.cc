#include "client/commands.h"

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "google/protobuf/util/json_util.h"

namespace sortition {

std::vector<Command> AllCommands() {
  return {
      MakeCommand("rank", "", "Ask for an order of candidates", RunRank),
      MakeCommand("select", "", "Ask for one candidate, or no answer",
                  RunSelect),
      MakeCommand("label", "", "Ask for a subset of the candidates", RunLabel),
      MakeCommand("aggregate", "", "Ask for one order from several score lists",
                  RunAggregate),
      MakeCommand("shown", "", "Report what the user saw of a decision",
                  RunShown),
      MakeCommand("feedback", "", "Report the reward of a decision",
                  RunFeedback),
      MakeCommand("models list", "", "What the server serves", RunModelsList),
      MakeCommand("world", "",
                  "Write the built-in question-answering world as LETOR text",
                  RunWorld),
      MakeCommand("simulate", "", "Drive a server as users would", RunSimulate),
      MakeCommand("log cat", "DIR|FILE", "Print log records, one JSON a line",
                  RunLogCat),
      MakeCommand("log stats", "DIR|FILE", "Count what a log holds",
                  RunLogStats),
      MakeCommand("log verify", "DIR|FILE",
                  "Recompute every logged decision bit for bit", RunLogVerify),
  };
}

absl::StatusOr<std::unique_ptr<Client>> ConnectClient(
    const config::v1::ClientOptions& options) {
  return Client::Connect(options.server(),
                         {.deadline_seconds = options.deadline_seconds(),
                          .max_attempts = options.max_attempts()});
}

absl::Status AtServer(const config::v1::ClientOptions& options,
                      const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("server ", options.server(),
                                                  ": ", status.message()));
}

std::string MessageJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  CHECK(google::protobuf::util::MessageToJsonString(message, &text, options)
            .ok());
  return text;
}

}  // namespace sortition
