#pragma once
// The attempts of one call: at which server, when, and until when.
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "client/rpc/server_choice.h"

namespace sortition {

struct AttemptLimits {
  uint32_t max_rounds = 1;  // Attempts at each server; at least 1.
  std::chrono::steady_clock::time_point deadline;  // When the call ends.
  double first_backoff_seconds = 0;                // Doubles with every round.
  double max_backoff_seconds = 0;
  // Leaves half of the time to the servers that have not been tried yet.
  bool shares_time = true;
};

// How an attempt failed.
struct Failure {
  absl::Status status;
  // Set if the server is overloaded, so that it decided nothing: when it asks
  // to be tried again.
  std::optional<double> retry_after_seconds;
};

// Used by one thread. For each attempt call Begin(), ask server() until the
// time that it returns, and report what came of it by Answered() or
// PauseAfter().
//
// Each server of the route is tried once, without a pause. If all of them
// failed, the call pauses and begins another round. If there are several
// servers, each attempt of a further round takes one from the retry budget.
class Attempts {
 public:
  using Clock = std::chrono::steady_clock;

  // `route`: the servers that the call may try, in this order; not empty.
  // `choice` must outlive this object.
  Attempts(const AttemptLimits& limits, std::vector<size_t> route,
           ServerChoice* choice);

  size_t server() const { return server_; }

  // Begins an attempt; returns its deadline.
  Clock::time_point Begin(Clock::time_point now);
  void Answered() { choice_.Answered(server_); }
  // Returns the pause before the next attempt, of which `jitter` in [0, 1) is
  // the random share; nothing if there is none, because the failure is an
  // answer or nothing is left to try.
  std::optional<Clock::duration> PauseAfter(const Failure& failure,
                                            double jitter,
                                            Clock::time_point now);
  // Returns what the caller gets after the last failure. It names each server
  // that was tried, if the route has several.
  absl::Status Error() const;

 private:
  bool HasSeveral() const { return route_.size() > 1; }
  void Note(const absl::Status& status);
  void TakeNext();

  const AttemptLimits limits_;
  const std::vector<size_t> route_;
  ServerChoice& choice_;
  std::vector<size_t> untried_;  // Servers left in this round, next one last.
  size_t server_ = 0;
  uint32_t round_ = 1;
  uint32_t number_ = 0;
  double backoff_seconds_;
  Clock::duration attempt_time_{0};
  absl::Status last_;
  std::optional<absl::Status>
      first_;  // The first that was followed by another.
  std::vector<std::pair<size_t, absl::Status>> tried_;  // The last of each.
};

}  // namespace sortition
