// The commands that change what serves.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/control/control_commands.h"
#include "client/control/serving_text.h"
#include "client/rpc/connect.h"
#include "core/base/status_macros.h"
#include "process/json_writer.h"

namespace sortition {
namespace {

using config::v1::ModelsChangeOptions;
using Request = v1::ChangeServingRequest;
using Arguments = std::vector<std::string>;

// No version, arm or shadow.
constexpr char kNone[] = "none";

absl::StatusOr<uint64_t> ParseVersion(absl::string_view text) {
  uint64_t version = 0;
  if (absl::SimpleAtoi(text, &version) && version > 0) return version;
  return UsageError(absl::StrCat("version is '", text,
                                 "', must be a whole number from 1 on"));
}

absl::Status CheckOptions(const ModelsChangeOptions& options,
                          const Request& request) {
  RETURN_IF_ERROR(CheckChoice("output", options.output(), {"text", "json"}));
  if (options.has_to() && !request.has_rollback()) {
    return UsageError("--to is for models rollback");
  }
  if (!options.explore().empty() && !request.has_set_mode()) {
    return UsageError("--explore is for models mode");
  }
  if (!options.method().empty() && !request.has_set_interleave()) {
    return UsageError("--method is for models interleave");
  }
  return absl::OkStatus();
}

// Tells what may come as a surprise. `newest` is that of the store; 0: unknown.
std::string NotesOn(const v1::ChangeServingResponse& response,
                    uint64_t newest) {
  const auto& left = response.serving().rolled_back_versions();
  const bool is_pinned = response.serving().pinned_version() > 0;
  if (is_pinned && newest > response.version()) {
    return absl::StrCat("sortition models unpin would let version ", newest,
                        " serve\n");
  }
  if (!is_pinned &&
      std::find(left.begin(), left.end(), response.version()) != left.end()) {
    return absl::StrCat("a rollback has left version ", response.version(),
                        " before\n");
  }
  return "";
}

// Sends the change, for the state that the server has now.
absl::Status Send(const ModelsChangeOptions& options, Request request,
                  CommandOutput* output, uint64_t newest = 0) {
  RETURN_IF_ERROR(CheckOptions(options, request));
  ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                   ConnectClient(options.client()));
  request.set_model(options.model());
  request.set_reason(options.reason());
  const auto response = client->ChangeServing(request);
  if (absl::IsDeadlineExceeded(response.status())) {
    return AtServer(
        options.client(),
        absl::DeadlineExceededError(absl::StrCat(
            response.status().message(),
            "; the server may still be loading a version, and serve it then: "
            "sortition models describe tells")));
  }
  RETURN_IF_ERROR(AtServer(options.client(), response.status()));
  if (options.output() == "json") {
    output->out << MessageJson(*response) << "\n";
    return absl::OkStatus();
  }
  output->out << ChangeText(response->serving()) << "\n"
              << ServingText(response->serving()) << "\nversion "
              << response->version() << " serves\n"
              << NotesOn(*response, newest);
  return absl::OkStatus();
}

absl::Status RunPin(const ModelsChangeOptions& options,
                    const Arguments& arguments, CommandOutput* output) {
  Request request;
  ASSIGN_OR_RETURN(const uint64_t version, ParseVersion(arguments[0]));
  request.mutable_pin()->set_version(version);
  return Send(options, std::move(request), output);
}

absl::Status RunUnpin(const ModelsChangeOptions& options, const Arguments&,
                      CommandOutput* output) {
  Request request;
  request.mutable_unpin();
  return Send(options, std::move(request), output);
}

absl::Status RunLabel(const ModelsChangeOptions& options,
                      const Arguments& arguments, CommandOutput* output) {
  Request request;
  request.mutable_set_label()->set_name(arguments[0]);
  if (arguments[1] != kNone) {
    ASSIGN_OR_RETURN(const uint64_t version, ParseVersion(arguments[1]));
    request.mutable_set_label()->set_version(version);
  }
  return Send(options, std::move(request), output);
}

// Calls `add` with each "version" or "version<separator>rest".
absl::Status ForEach(
    const Arguments& arguments, char separator,
    absl::FunctionRef<absl::Status(uint64_t, absl::string_view)> add) {
  if (arguments == Arguments{kNone}) return absl::OkStatus();
  for (const std::string& argument : arguments) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(argument, absl::MaxSplits(separator, 1));
    ASSIGN_OR_RETURN(const uint64_t version, ParseVersion(parts.first));
    RETURN_IF_ERROR(add(version, parts.second));
  }
  return absl::OkStatus();
}

absl::Status RunSplit(const ModelsChangeOptions& options,
                      const Arguments& arguments, CommandOutput* output) {
  Request request;
  Request::SetSplit& split = *request.mutable_set_split();
  RETURN_IF_ERROR(
      ForEach(arguments, '=',
              [&](uint64_t version, absl::string_view share) -> absl::Status {
                const auto parts = ParseShare(share);
                if (!parts.ok()) return UsageError(parts.status().message());
                Request::Arm& arm = *split.add_arms();
                arm.set_version(version);
                arm.set_parts(*parts);
                return absl::OkStatus();
              }));
  return Send(options, std::move(request), output);
}

absl::Status RunInterleave(const ModelsChangeOptions& options,
                           const Arguments& arguments, CommandOutput* output) {
  Request request;
  Request::SetInterleave& change = *request.mutable_set_interleave();
  auto method = model::v1::Interleave::TEAM_DRAFT;
  if (!options.method().empty() &&
      (!model::v1::Interleave::Method_Parse(options.method(), &method) ||
       method == model::v1::Interleave::METHOD_UNSPECIFIED)) {
    return UsageError(absl::StrCat("method is '", options.method(),
                                   "', must be TEAM_DRAFT or PROBABILISTIC"));
  }
  RETURN_IF_ERROR(
      ForEach(arguments, '=',
              [&](uint64_t version, absl::string_view share) -> absl::Status {
                const auto parts = ParseShare(share);
                if (!parts.ok()) return UsageError(parts.status().message());
                change.set_version(version);
                change.set_method(method);
                change.set_parts(*parts);
                return absl::OkStatus();
              }));
  return Send(options, std::move(request), output);
}

absl::Status RunShadow(const ModelsChangeOptions& options,
                       const Arguments& arguments, CommandOutput* output) {
  Request request;
  Request::SetShadows& shadows = *request.mutable_set_shadows();
  RETURN_IF_ERROR(ForEach(
      arguments, '/',
      [&](uint64_t version, absl::string_view every) -> absl::Status {
        uint32_t number = 1;
        if (!every.empty() &&
            (!absl::SimpleAtoi(every, &number) || number == 0)) {
          return UsageError(absl::StrCat(
              "share is '/", every, "', must be / and a number from 1 on"));
        }
        model::v1::ShadowVersion& shadow = *shadows.add_shadows();
        shadow.set_version(version);
        shadow.set_every(number);
        return absl::OkStatus();
      }));
  return Send(options, std::move(request), output);
}

absl::Status RunMode(const ModelsChangeOptions& options,
                     const Arguments& arguments, CommandOutput* output) {
  Request request;
  model::v1::LearningMode mode = model::v1::ONLINE;
  if (!model::v1::LearningMode_Parse(arguments[0], &mode)) {
    return UsageError(absl::StrCat(
        "mode is '", arguments[0],
        "', must be ONLINE, APPRENTICE, EXPLORE_ABOVE_BASELINE, SHADOW or "
        "OFF"));
  }
  request.mutable_set_mode()->set_mode(mode);
  if (!options.explore().empty()) {
    const auto parts = ParseShare(options.explore());
    if (!parts.ok()) return UsageError(parts.status().message());
    request.mutable_set_mode()->set_explore_parts(*parts);
  }
  return Send(options, std::move(request), output);
}

absl::Status RunRollback(const ModelsChangeOptions& options, const Arguments&,
                         CommandOutput* output) {
  Request request;
  request.mutable_rollback()->set_version(options.to());
  RETURN_IF_ERROR(CheckOptions(options, request));
  // So that a call that is repeated does not go back twice.
  ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                   ConnectClient(options.client()));
  v1::DescribeModelRequest describe;
  describe.set_model(options.model());
  const auto now = client->DescribeModel(describe);
  RETURN_IF_ERROR(AtServer(options.client(), now.status()));
  request.set_expected_change(now->stored_change());
  const uint64_t newest =
      now->versions().empty() ? 0 : now->versions().rbegin()->version();
  return Send(options, std::move(request), output, newest);
}

template <bool kOff>
absl::Status RunProtect(const ModelsChangeOptions& options,
                        const Arguments& arguments, CommandOutput* output) {
  Request request;
  ASSIGN_OR_RETURN(const uint64_t version, ParseVersion(arguments[0]));
  request.mutable_protect()->set_version(version);
  request.mutable_protect()->set_off(kOff);
  return Send(options, std::move(request), output);
}

}  // namespace

absl::Status RunModelsReload(const config::v1::ModelsOptions& options,
                             const std::vector<std::string>&,
                             CommandOutput* output) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                   ConnectClient(options.client()));
  RETURN_IF_ERROR(AtServer(options.client(), client->ReloadModels()));
  output->out << "the server has looked at its model store\n";
  return absl::OkStatus();
}

std::vector<Command> ServingChangeCommands() {
  return {
      MakeCommand("models pin", "VERSION",
                  "Let one version serve, not the newest", RunPin),
      MakeCommand("models unpin", "", "Let the newest version serve", RunUnpin),
      MakeCommand("models label", "NAME VERSION",
                  "Name a version for requests; none removes the label",
                  RunLabel),
      MakeCommand(
          "models split", "VERSION=SHARE…",
          "Give versions a share of the traffic, as 8=1%; none ends it",
          RunSplit,
          "Gives versions a share of the traffic, as in 8=1%, and the "
          "rest to the\nversion that serves; none ends the split. A unit "
          "(user) stays with its version;\na share that grows keeps its "
          "units. Names all arms: those that are not named end."),
      MakeCommand(
          "models interleave", "VERSION=SHARE",
          "Interleave rankings with those of a version, as 8=10%; none ends "
          "it",
          RunInterleave,
          "Lets a share of the units (users), as in 8=10%, get rankings that "
          "the version that\nserves makes together with another one: which of "
          "the two do users prefer? ope tells.\nnone ends it. --method says "
          "how. Both versions must have the policy plackett_luce;\nnot beside "
          "a split, nor in another mode than ONLINE."),
      MakeCommand("models shadow", "VERSION[/N]…",
                  "Let versions look on, at one decision in N; none ends it",
                  RunShadow),
      MakeCommand("models mode", "MODE",
                  "Set who decides: ONLINE, APPRENTICE, "
                  "EXPLORE_ABOVE_BASELINE, SHADOW or OFF",
                  RunMode),
      MakeCommand(
          "models rollback", "",
          "Go one step back: end the split, or serve the version before",
          RunRollback,
          "Goes one step back: while traffic is split, to the version "
          "that serves the rest;\notherwise to the newest version before "
          "the one that serves that loads, and that no\nrollback has left "
          "before. It is pinned: versions that are published later do not\n"
          "serve until models unpin. --to names the version."),
      MakeCommand("models protect", "VERSION", "Keep a version from retention",
                  RunProtect<false>),
      MakeCommand("models unprotect", "VERSION", "Leave a version to retention",
                  RunProtect<true>),
  };
}

}  // namespace sortition
