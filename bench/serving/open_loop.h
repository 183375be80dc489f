#pragma once
// A load generator whose requests come when they come, whether or not those
// before were answered: Poisson arrivals at a given rate.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sortition {

struct OpenLoopOptions {
  std::string method;   // Path of a unary RPC.
  std::string request;  // Its serialised request.
  int channels = 4;     // TCP connections.
  double requests_per_second = 0;
  double warmup_seconds = 1;    // Length of the arrivals that do not count.
  double seconds = 2;           // Length of those that do.
  double deadline_seconds = 1;  // Of a call, from its intended start.
  uint64_t seed = 1;
};

struct OpenLoopResult {
  double goodput = 0;   // Answered with OK, per second of arrivals.
  double refused = 0;   // RESOURCE_EXHAUSTED, per second.
  double expired = 0;   // DEADLINE_EXCEEDED, per second.
  uint64_t failed = 0;  // With another code.
  // Of those with OK, from the intended start.
  double p50_milliseconds = 0;
  double p99_milliseconds = 0;
  std::vector<double> milliseconds;  // All of them, ascending.
  // The 99th percentile of how late requests were sent.
  double lag_milliseconds = 0;
};

// Sends to 127.0.0.1:port. Unavailable if nothing is answered.
absl::StatusOr<OpenLoopResult> RunOpenLoop(int port,
                                           const OpenLoopOptions& options);

// Returns answers per second with `outstanding` requests under way all the
// time.
absl::StatusOr<double> MeasureCapacity(int port, const OpenLoopOptions& options,
                                       int outstanding);

}  // namespace sortition
