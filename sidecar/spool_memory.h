#pragma once
// What is remembered of spool segments that were removed, so that a restart
// answers as if they were still there.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sidecar/join_records.h"

namespace sortition {

// One file per removed segment, <dir>/<segment>.ids, with the hashes and times
// of its ids. Not thread-safe.
class SpoolMemory {
 public:
  // `dir` is made where missing.
  explicit SpoolMemory(std::string dir) : dir_(std::move(dir)) {}

  // The ids of all removed segments, oldest first. `present` names the segments
  // of the spool: what is kept of those is dropped, for they can be read again.
  // A damaged file is logged and passed over.
  absl::StatusOr<std::vector<RememberedId>> Load(
      const std::vector<std::string>& present);

  // On the disk when it returns.
  absl::Status Add(const std::string& segment,
                   const std::vector<RememberedId>& ids);

  // Drops the files without an id of `time_us` or later.
  absl::Status DropBefore(int64_t time_us);

 private:
  absl::Status Drop(const std::string& segment);
  std::string PathOf(const std::string& segment) const {
    return dir_ + "/" + segment + ".ids";
  }

  const std::string dir_;
  std::map<std::string, int64_t> last_time_us_;  // By segment.
};

}  // namespace sortition
