#pragma once
// Limits the rate of a log line about an event that may come many times.
#include <cstdint>
#include <utility>

namespace sortition {

// Counts events and decides when a line about them is due: at the first event,
// and then at most once a minute. Not thread-safe.
class RepeatedLog {
 public:
  // Counts an event at `now_us`. Returns the number of events since the last
  // line if a line is due, and 0 otherwise.
  uint64_t Count(int64_t now_us) {
    ++count_;
    // A clock that was set back must not silence the line.
    const bool is_recent =
        has_logged_ && now_us >= logged_us_ && now_us < logged_us_ + kMinuteUs;
    if (is_recent) return 0;
    has_logged_ = true;
    logged_us_ = now_us;
    return std::exchange(count_, 0);
  }

  // Notes that the trouble has ended, so that the next event is a first one.
  // Returns true if there was any.
  bool End() {
    count_ = 0;
    return std::exchange(has_logged_, false);
  }

 private:
  static constexpr int64_t kMinuteUs = 60'000'000;

  uint64_t count_ = 0;
  bool has_logged_ = false;
  int64_t logged_us_ = 0;
};

}  // namespace sortition
