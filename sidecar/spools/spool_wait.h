#pragma once
// Says that there is no spool to read yet: a sidecar that waits looks like one
// that works.
#include <cstdint>
#include <string>
#include <vector>

namespace sortition {

// Not thread-safe.
class SpoolWait {
 public:
  // `spools`: directories or patterns, as the options name them.
  explicit SpoolWait(const std::vector<std::string>& spools);

  // Takes whether a segment has been found, at `now_us`. Logs a warning at once
  // and then once a minute while there is none, and once when there is.
  void Update(bool is_found, int64_t now_us);

  // What it waits for, as for Sidecar.problem; empty: nothing.
  const std::string& problem() const { return problem_; }

 private:
  const std::string waits_for_;
  std::string problem_;
  int64_t said_us_ = 0;
};

}  // namespace sortition
