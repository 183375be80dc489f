#pragma once
#include <cmath>
#include <cstdint>

namespace sortition {

// Returns the nearest whole number of microseconds.
inline int64_t Micros(double seconds) {
  return static_cast<int64_t>(std::llround(seconds * 1e6));
}

}  // namespace sortition
