#include "tests/fuzz/join_bytes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

using testing_sidecar::JoinEvent;
using Kind = JoinEvent::Kind;

constexpr int64_t kHalfSecond = 500000;
constexpr size_t kMostEvents = 200;
// Later times could be followed by no watermark that closes their windows.
constexpr int64_t kLatestTimeUs = int64_t{1} << 60;

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : next_(data), end_(data + size) {}
  bool empty() const { return next_ == end_; }
  // Returns 0 at the end.
  uint8_t Take() { return empty() ? 0 : *next_++; }
  int64_t TakeInt64() {
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | Take();
    return static_cast<int64_t>(value);
  }

 private:
  const uint8_t* next_;
  const uint8_t* end_;
};

config::v1::JoinOptions DecodeOptions(uint8_t byte) {
  using Options = config::v1::JoinOptions;
  Options options;
  options.set_reward_wait_time_seconds(10);
  options.set_slack_seconds(1);
  options.set_default_reward(-7);
  options.set_aggregation(static_cast<Options::Aggregation>(1 + byte % 5));
  options.set_only_if_shown((byte & 0x20) != 0);
  if ((byte & 0x40) != 0) {
    options.set_max_held_per_decision(2);
    options.set_max_held(4);
  }
  options.set_max_lead_seconds((byte & 0x80) != 0 ? 5 : 1e9);
  return options;
}

// A page of up to three ranks from rank 0, 1, 2 or 3 on, that may say how far
// the user looked, or a report of that alone.
void DecodePages(int detail, JoinEvent* event) {
  const int entries = detail >> 2 & 3;
  for (int i = 0; i < entries; ++i) {
    event->shown.push_back(static_cast<uint32_t>(detail + i));
  }
  if (entries > 0) event->first_rank = static_cast<uint32_t>(detail & 3);
  if (detail >> 4 != 0) event->seen_ranks = static_cast<uint32_t>(detail >> 4);
}

}  // namespace

// Times are half seconds from a clock that goes on by up to 3.5 s per event, up
// to 8 s behind or ahead of it, so that they fall on the ends of windows.
JoinInput DecodeJoin(const uint8_t* data, size_t size) {
  Bytes bytes(data, size);
  JoinInput input;
  input.options = DecodeOptions(bytes.Take());
  int64_t clock_us = 1000 * 1000000;
  while (!bytes.empty() && input.events.size() < kMostEvents) {
    const uint8_t what = bytes.Take();
    const uint8_t when = bytes.Take();
    const uint8_t detail = bytes.Take();
    JoinEvent event;
    event.kind = static_cast<Kind>(what & 3);
    if (event.kind == Kind::kShown && (detail & 2) != 0) {
      event.kind = Kind::kView;
    }
    event.decision_id = absl::StrCat("d", what >> 2 & 7);
    clock_us += (when & 7) * kHalfSecond;
    event.time_us = clock_us;
    if (event.kind != Kind::kLook) {
      event.time_us += ((when >> 3) - 16) * kHalfSecond;
    }
    if (what >> 5 == 7) {
      event.time_us = std::min(bytes.TakeInt64(), kLatestTimeUs);
    }
    if (event.kind == Kind::kFeedback) {
      event.feedback_id = absl::StrCat("f", detail & 15);
      event.reward = (detail >> 4) - 4;
    }
    event.answer = event.kind == Kind::kView ? detail >> 2 & 3 : detail & 1;
    event.not_shown = (detail & 1) != 0;
    if (event.kind == Kind::kShown && !event.not_shown) {
      DecodePages(detail >> 2, &event);
    }
    input.events.push_back(event);
  }
  return input;
}

}  // namespace sortition
