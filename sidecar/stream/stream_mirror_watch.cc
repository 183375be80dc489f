// What a mirror watches while it copies: gaps, silence, the broker.
#include <algorithm>
#include <utility>

#include "core/base/status_macros.h"
#include "io/clocks.h"
#include "process/log.h"
#include "sidecar/stream/stream_mirror.h"

namespace sortition {
namespace {

constexpr int64_t kLookIntervalUs = 10000000;
constexpr int64_t kMarkIntervalUs = 1000000;
// So many marks are kept, whatever retain_seconds is.
constexpr int64_t kMostMarks = 1000;
constexpr int64_t kGapPatienceUs = 10000000;

}  // namespace

// A broker that has lost messages gets them once more from the shipper, behind
// those that are here already. So a gap is believed only after the whole stream
// was read again, twice.
absl::Status StreamMirror::WatchGaps() {
  if (stream_->num_pending() > 0) return absl::OkStatus();
  const int64_t now_us = steady_clock_();
  bool must_reread = false;
  for (auto& [writer, source] : sources_) {
    if (source.gap_us == 0) {
      source.num_rereads = 0;
    } else if (now_us >= source.gap_us + kGapPatienceUs) {
      ++source.num_rereads;
      source.gap_us = 0;
      must_reread = true;
      LogWarning("bytes of a spool are missing; reading the stream again",
                 {{"stream", options_.stream}, {"writer", writer}});
    }
  }
  if (!HasGaps()) before_gap_.reset();
  if (!must_reread) return absl::OkStatus();
  restarts_->Increment();
  return StartAt(1);
}

bool StreamMirror::HasGaps() const {
  return std::any_of(sources_.begin(), sources_.end(), [](const auto& entry) {
    return entry.second.gap_us != 0 || entry.second.num_rereads > 0;
  });
}

absl::Status StreamMirror::WatchSilence() {
  const int64_t now_us = steady_clock_();
  for (auto& [writer, source] : sources_) {
    // What it said may be among what was not fetched yet.
    if (stream_->num_pending() > 0 ||
        progress_.last_sequence > position_.sequence()) {
      source.heard_us = now_us;
    }
    const double silence = static_cast<double>(now_us - source.heard_us) * 1e-6;
    source.silence_seconds->Set(silence);
    if (silence < options_.max_silence_seconds) continue;
    source.spool->ReleaseState();
    RETURN_IF_ERROR(source.spool->WriteState());
  }
  return absl::OkStatus();
}

absl::Status StreamMirror::Look() {
  const int64_t now_us = steady_clock_();
  const int64_t interval_us =
      std::max(kMarkIntervalUs, Micros(options_.retain_seconds) / kMostMarks);
  if (options_.retain_seconds >= 0 &&
      (marks_.empty() || now_us >= marks_.back().time_us + interval_us)) {
    marks_.push_back({now_us, position_.sequence()});
  }
  if (now_us < next_look_us_) return absl::OkStatus();
  next_look_us_ = now_us + kLookIntervalUs;
  ASSIGN_OR_RETURN(const StreamState state, stream_->State());
  stream_bytes_->Set(static_cast<double>(state.bytes));
  stream_max_bytes_->Set(static_cast<double>(state.max_bytes));
  // A broker that lost its newest messages begins to count there. One that
  // delivers nothing of what it has had since the last look has forgotten its
  // consumer.
  const Progress before =
      std::exchange(progress_, {state.last_sequence, position_.sequence()});
  const bool is_stuck = before.position == progress_.position &&
                        before.last_sequence > progress_.position;
  if (is_stuck) {
    LogWarning("the stream delivers nothing; reading from there again",
               {{"stream", options_.stream}, {"after", position_.sequence()}});
  }
  if (is_stuck || state.last_sequence < position_.sequence()) {
    is_started_ = false;
    return absl::OkStatus();
  }
  return RemoveOldMessages(state);
}

absl::Status StreamMirror::RemoveOldMessages(const StreamState& state) {
  if (options_.retain_seconds < 0 || HasGaps()) return absl::OkStatus();
  const int64_t now_us = steady_clock_();
  uint64_t before = 0;
  while (!marks_.empty() &&
         marks_.front().time_us + Micros(options_.retain_seconds) <= now_us) {
    before = marks_.front().sequence;
    marks_.pop_front();
  }
  if (state.max_bytes > 0 && state.bytes > state.max_bytes / 4 * 3) {
    // The older half.
    before =
        std::max(before, (state.first_sequence + position_.sequence()) / 2);
  }
  before = std::min(before, position_.sequence());
  if (before <= state.first_sequence) return absl::OkStatus();
  RETURN_IF_ERROR(stream_->RemoveBefore(before));
  removed_->Increment(static_cast<double>(before - state.first_sequence));
  return absl::OkStatus();
}

}  // namespace sortition
