#pragma once
// The time of day, and finding out when it was set.
#include <cstdint>
#include <optional>

#include "core/base/micros.h"  // IWYU pragma: export

namespace sortition {

// Microseconds since the epoch. Follows the system clock, so it can be set
// back.
int64_t NowUs();

// Microseconds since some time in the past. Is never set.
int64_t SteadyUs();

// Times in microseconds since the epoch.
struct ClockStep {
  // Records that were stamped shortly before or after the step lie in here.
  int64_t first_us = 0;
  int64_t last_us = 0;
};

// Compares the time of day with a steady clock. Not thread-safe.
class ClockSteps {
 public:
  // Returns the step between the last call and this one, if it was more than a
  // second: less is disorder that the join tolerates anyway. Clocks that a time
  // service slews make no step.
  std::optional<ClockStep> Look(int64_t now_us, int64_t steady_us);

 private:
  bool has_last_ = false;
  int64_t last_us_ = 0;
  int64_t last_steady_us_ = 0;
};

}  // namespace sortition
