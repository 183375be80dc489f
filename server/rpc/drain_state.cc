#include "server/rpc/drain_state.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace sortition {

void DrainState::WaitForQuiet(double timeout_seconds) const {
  constexpr absl::Duration kQuiet = absl::Milliseconds(50);
  constexpr absl::Duration kLongest = absl::Seconds(1);
  const absl::Time start = absl::Now();
  const absl::Time latest = start + absl::Seconds(timeout_seconds);
  const absl::Time deadline = std::min(latest, start + kLongest);
  uint64_t before = 0;
  bool may_come = true;
  do {
    before = refused;
    // Calls behind answers that wait for the disk have not been refused yet.
    const bool is_syncing = syncing > 0;
    absl::SleepFor(std::min(kQuiet, latest - absl::Now()));
    may_come = is_syncing ? absl::Now() < latest
                          : refused != before && absl::Now() < deadline;
  } while (may_come);
}

absl::Status DrainingError() {
  return absl::UnavailableError(
      "server is draining before it shuts down; ask another one");
}

}  // namespace sortition
