#pragma once
// A closed-loop load generator on one completion queue.
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "sortition/v1/ranking.grpc.pb.h"
#include "tests/testing/child_process.h"

namespace sortition {

struct ClosedLoopOptions {
  int channels = 4;      // TCP connections.
  int outstanding = 64;  // Requests under way at any time.
  double warmup_seconds = 0.3;
  double seconds = 2;  // Length of the measured window.
  // Metadata of each request; empty: none.
  std::string traceparent = {};
};

struct ClosedLoopResult {
  double requests_per_second = 0;
  double server_microseconds = 0;  // CPU time of the server per request.
  double p50_milliseconds = 0;
  double p99_milliseconds = 0;
  double p999_milliseconds = 0;
  uint64_t failed = 0;
  std::string failure;  // Message of the first failure.
};

// Sends `request` to `server` at 127.0.0.1:port again and again. Unavailable if
// the server ends or answers no request.
absl::StatusOr<ClosedLoopResult> RunClosedLoop(
    const v1::RankRequest& request, int port, const ChildProcess& server,
    const ClosedLoopOptions& options);

// Returns a stub with a connection of its own to 127.0.0.1:port.
std::unique_ptr<v1::Ranking::Stub> ConnectRank(int port);

// Makes one call and returns its answer.
absl::StatusOr<v1::RankResponse> RankOnce(const v1::RankRequest& request,
                                          int port);

}  // namespace sortition
