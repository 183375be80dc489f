#include "io/clocks.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace sortition {
namespace {

constexpr int64_t kLargestSlewUs = 1000000;

}  // namespace

// Not absl::Now(): that counts cycles and looks at the clock every two seconds,
// so that processes would disagree for as long after the clock was set.
int64_t NowUs() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

int64_t SteadyUs() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::optional<ClockStep> ClockSteps::Look(int64_t now_us, int64_t steady_us) {
  const int64_t before_us = std::exchange(last_us_, now_us);
  const int64_t passed_us =
      steady_us - std::exchange(last_steady_us_, steady_us);
  if (!std::exchange(has_last_, true)) return std::nullopt;
  // Where the clock would be without a step.
  const int64_t expected_us = before_us + passed_us;
  if (std::abs(now_us - expected_us) <= kLargestSlewUs) return std::nullopt;
  // The step may have been at any moment since the last call.
  return ClockStep{std::min(before_us, now_us - passed_us),
                   std::max(expected_us, now_us)};
}

}  // namespace sortition
