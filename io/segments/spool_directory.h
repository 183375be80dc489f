#pragma once
// The directory of a spool, held by its one writer.
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace sortition {

class SpoolDirectory {
 public:
  // Creates `dir` where missing, locks it for the life of the object, removes
  // what a dead writer left under temporary names. FailedPrecondition where
  // another writer holds it.
  static absl::StatusOr<std::unique_ptr<SpoolDirectory>> Take(
      const std::string& dir);
  ~SpoolDirectory();

  // Time for the name of a new segment: now, but later than all before it, so
  // that names sort in the order of writing even where the clock is set back
  // or the older segments are gone. Not thread-safe.
  int64_t NextSegmentTime();

  // Of all segments but `except`.
  uint64_t SegmentBytes(const std::string& except) const;

  const std::string& path() const { return path_; }

 private:
  explicit SpoolDirectory(std::string path);
  // Reads the newest time from the lock file and the names.
  absl::Status FindNewestTime();

  const std::string path_;
  int lock_fd_ = -1;
  int64_t newest_time_us_ = 0;
};

}  // namespace sortition
