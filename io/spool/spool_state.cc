#include "io/spool/spool_state.h"

#include "core/base/check.h"

namespace sortition {
namespace {

constexpr std::chrono::minutes kReportInterval{1};

constexpr std::array<absl::string_view, kNumSpoolStates> kMessages = {
    "spool: trouble that loses nothing",
    "spool full: records are refused or lost",
    "spool cannot be written: records are refused or lost",
    "spool cannot be synced: saving its records to another segment",
    "spool waits for a sync that does not return: nothing is answered",
};

}  // namespace

absl::string_view SpoolStateName(SpoolState state) {
  constexpr std::array<absl::string_view, kNumSpoolStates> kNames = {
      "ok", "full", "io_error", "sync_failed", "stalled"};
  return kNames[static_cast<size_t>(state)];
}

void SpoolStateMachine::Note(Kind* kind, const absl::Status& why) {
  ++kind->unreported;
  kind->error = std::string(why.message());
}

void SpoolStateMachine::Fail(SpoolState state, const absl::Status& why) {
  DCHECK(state != SpoolState::kOk && state != SpoolState::kStalled);
  Note(&kinds_[static_cast<size_t>(state)], why);
  if (state_ != SpoolState::kSyncFailed) state_ = state;
}

void SpoolStateMachine::Warn(const absl::Status& why) {
  Note(&kinds_[static_cast<size_t>(SpoolState::kOk)], why);
}

void SpoolStateMachine::Succeed() {
  if (state_ != SpoolState::kSyncFailed) state_ = SpoolState::kOk;
}

void SpoolStateMachine::SetStalled(bool is_stalled) {
  if (is_stalled && !is_stalled_) {
    Note(&kinds_[static_cast<size_t>(SpoolState::kStalled)],
         absl::UnavailableError("fdatasync has not returned for seconds"));
  }
  is_stalled_ = is_stalled;
}

void SpoolStateMachine::Recover() { state_ = SpoolState::kOk; }

std::vector<SpoolEvent> SpoolStateMachine::TakeEvents(Clock::time_point now) {
  std::vector<SpoolEvent> events;
  for (size_t i = 0; i < kNumSpoolStates; ++i) {
    Kind& kind = kinds_[i];
    if (kind.unreported == 0 ||
        (kind.was_reported && now - kind.reported_at < kReportInterval)) {
      continue;
    }
    events.push_back(
        {true, std::string(kMessages[i]), kind.error, kind.unreported});
    kind.unreported = 0;
    kind.was_reported = true;
    kind.reported_at = now;
    if (i != 0) is_trouble_reported_ = true;
  }
  if (state() == SpoolState::kOk && is_trouble_reported_) {
    events.push_back({false, "spool takes records again", "", 0});
    is_trouble_reported_ = false;
  }
  return events;
}

}  // namespace sortition
