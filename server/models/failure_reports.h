#pragma once
// Which of many failures are worth a log line.
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace sortition {

// The first failure is reported at once, later ones once a minute with their
// number. Not thread-safe.
class FailureReports {
 public:
  using Clock = std::chrono::steady_clock;

  // Counts a failure. Returns the number of failures since the last report if
  // one is due; otherwise 0.
  uint64_t Count(Clock::time_point now) {
    constexpr std::chrono::minutes kInterval{1};
    ++unreported_;
    if (reported_at_.has_value() && now - *reported_at_ < kInterval) return 0;
    reported_at_ = now;
    return std::exchange(unreported_, 0);
  }

 private:
  uint64_t unreported_ = 0;
  std::optional<Clock::time_point> reported_at_;
};

}  // namespace sortition
