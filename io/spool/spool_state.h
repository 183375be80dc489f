#pragma once
// The state of a spool: whether it takes records, and if not, why. It drives
// metrics, health and log lines alike.
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sortition {

enum class SpoolState {
  kOk,
  kFull,        // At its limit, or the disk is full.
  kIoError,     // A write or the start of a segment fails.
  kSyncFailed,  // Records are not known to be on the disk; they are being saved
                // to another segment.
  kStalled,     // Appends wait for a sync that does not return.
};
constexpr size_t kNumSpoolStates = 5;

// Returns "ok", "full", "io_error", "sync_failed" or "stalled".
absl::string_view SpoolStateName(SpoolState state);

// Something that an operator must hear of.
struct SpoolEvent {
  bool is_error = true;  // False: the spool takes records again.
  std::string message;
  std::string error;   // Message of the last failure; empty: none.
  uint64_t count = 0;  // Failures since the last event with this message.
};

// Follows the state and decides what to report: the first failure of a kind at
// once, later ones once a minute with their number, and the end of the trouble.
// Not thread-safe.
class SpoolStateMachine {
 public:
  using Clock = std::chrono::steady_clock;

  SpoolState state() const {
    return state_ == SpoolState::kOk && is_stalled_ ? SpoolState::kStalled
                                                    : state_;
  }

  // Notes that an operation failed. `state` is neither kOk nor kStalled. A
  // failed sync stays the state until Recover(): nothing else ends it.
  void Fail(SpoolState state, const absl::Status& why);
  // Notes that records are taken. Does not end kSyncFailed.
  void Succeed();
  // Notes that everything is on the disk again after kSyncFailed.
  void Recover();
  // Notes whether a sync that somebody waits for stalls. Every other trouble
  // hides kStalled.
  void SetStalled(bool is_stalled);
  // Notes trouble that refuses nothing, such as a rotation that is put off.
  void Warn(const absl::Status& why);

  // Returns what is due to be reported.
  std::vector<SpoolEvent> TakeEvents(Clock::time_point now);

 private:
  // Failures of one kind. The place of kOk in `kinds_` counts warnings.
  struct Kind {
    uint64_t unreported = 0;
    bool was_reported = false;
    Clock::time_point reported_at;
    std::string error;  // Of the last failure.
  };

  void Note(Kind* kind, const absl::Status& why);

  SpoolState state_ = SpoolState::kOk;
  bool is_stalled_ = false;
  bool is_trouble_reported_ = false;
  std::array<Kind, kNumSpoolStates> kinds_;
};

}  // namespace sortition
