#pragma once
// The end of a server, as its requests see it.
#include <atomic>
#include <cstdint>

#include "absl/status/status.h"

namespace sortition {

// Whether requests are refused, and how many have been.
struct DrainState {
  // Waits until no request has come for a while, at most this long. gRPC ends
  // calls that arrive during its shutdown as CANCELLED, which callers cannot
  // tell from an error of their own; after UNAVAILABLE they go elsewhere.
  void WaitForQuiet(double timeout_seconds) const;

  std::atomic<bool> draining{false};
  std::atomic<uint64_t> refused{0};
  std::atomic<uint64_t> syncing{0};  // Answers that wait for the disk.
};

// What callers are told meanwhile.
absl::Status DrainingError();

}  // namespace sortition
