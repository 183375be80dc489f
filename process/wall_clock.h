#pragma once
// The time of day.
#include <cstdint>

namespace sortition {

// Microseconds since the epoch. Follows the system clock, so it can be set
// back.
int64_t NowUs();

}  // namespace sortition
