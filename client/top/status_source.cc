#include "client/top/status_source.h"

#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "google/protobuf/util/json_util.h"
#include "process/command.h"
#include "process/http/http_get.h"

namespace sortition {
namespace {

constexpr HttpGetLimits kLimits = {.time = std::chrono::seconds(1),
                                   .bytes = size_t{64} << 20};

// Sets the answer of `address`, or why there is none.
void Ask(const std::string& address, std::optional<status::v1::Status>* status,
         std::string* problem) {
  const absl::StatusOr<std::string> json =
      HttpGet(address, "/status.json?history=0", kLimits);
  if (!json.ok()) {
    *problem = std::string(json.status().message());
    return;
  }
  absl::StatusOr<status::v1::Status> answer = ParseStatus(*json);
  if (answer.ok()) {
    *status = *std::move(answer);
  } else {
    *problem = absl::StrCat(address, ": ", answer.status().message());
  }
}

}  // namespace

absl::StatusOr<std::string> AddressOf(absl::string_view flag,
                                      absl::string_view url) {
  absl::string_view address = url;
  absl::ConsumePrefix(&address, "http://");
  absl::ConsumeSuffix(&address, "/");
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos || colon == 0 ||
      colon + 1 == address.size() || absl::StrContains(address, "/")) {
    return UsageError(absl::StrCat("--", flag, " is \"", url,
                                   "\", must be http://HOST:PORT or "
                                   "HOST:PORT"));
  }
  return std::string(address);
}

absl::StatusOr<status::v1::Status> ParseStatus(const std::string& json) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  status::v1::Status status;
  if (!google::protobuf::util::JsonStringToMessage(json, &status, options)
           .ok()) {
    return absl::DataLossError("the answer is not the status of a program");
  }
  return status;
}

absl::StatusOr<TopView> LookAt(const config::v1::TopOptions& options) {
  if (options.server().empty() && options.sidecar().empty()) {
    return UsageError("--server and --sidecar are empty, must name one");
  }
  TopView view;
  if (!options.server().empty()) {
    ASSIGN_OR_RETURN(view.server, AddressOf("server", options.server()));
  }
  if (!options.sidecar().empty()) {
    ASSIGN_OR_RETURN(view.sidecar, AddressOf("sidecar", options.sidecar()));
  }
  if (!view.server.empty()) {
    Ask(view.server, &view.server_status, &view.server_problem);
  }
  if (!view.sidecar.empty()) {
    Ask(view.sidecar, &view.sidecar_status, &view.sidecar_problem);
  }
  return view;
}

}  // namespace sortition
