#include "process/wall_clock.h"

#include "absl/time/clock.h"

namespace sortition {

int64_t NowUs() { return absl::GetCurrentTimeNanos() / 1000; }

}  // namespace sortition
