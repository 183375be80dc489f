#pragma once
// What a server and a sidecar say of themselves over HTTP.
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sortition/config/v1/start.pb.h"
#include "sortition/status/v1/status.pb.h"

namespace sortition {

// One look at both.
struct TopView {
  std::string server;   // host:port; empty: none was named.
  std::string sidecar;  // The same.
  // What was answered; unset: nobody was asked, or no answer came.
  std::optional<status::v1::Status> server_status;
  std::optional<status::v1::Status> sidecar_status;
  std::string server_problem;  // Why there is no answer; empty: nothing.
  std::string sidecar_problem;
};

// Returns host:port of "http://host:port/" or "host:port". InvalidArgument,
// naming the `flag`, for anything else.
absl::StatusOr<std::string> AddressOf(absl::string_view flag,
                                      absl::string_view url);

// Returns the status that /status.json holds; fields of later releases are left
// out. DataLoss if it is none.
absl::StatusOr<status::v1::Status> ParseStatus(const std::string& json);

// Asks whom `options` name, each for a second at most. Usage error if they name
// nobody, or no address.
absl::StatusOr<TopView> LookAt(const config::v1::TopOptions& options);

}  // namespace sortition
