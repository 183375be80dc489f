#pragma once
// The baseline of bench_rpc: servers that parse a RankRequest and answer with a
// prepared RankResponse.
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sortition {

struct EchoOptions {
  std::string api;            // "queue" or "callback".
  std::string response_file;  // Serialised RankResponse.
  std::string port_file;      // Gets the line "rpc PORT".
};

// Serves until it is killed. Returns only if it cannot start.
absl::Status RunEchoServer(const EchoOptions& options);

}  // namespace sortition
