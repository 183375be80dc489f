#pragma once
// The directory of a spool, locked by its only writer.
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace sortition {

class SpoolDirectory {
 public:
  // Creates `dir` if it does not exist, locks it for the life of the object,
  // and removes temporary files that a dead writer left. FailedPrecondition if
  // another writer holds the lock.
  static absl::StatusOr<std::unique_ptr<SpoolDirectory>> Take(
      const std::string& dir);
  ~SpoolDirectory();

  // Returns the time for the name of a new segment: now, but later than all
  // earlier ones, so that names sort in the order of writing even if the clock
  // is set back or older segments have been removed. Not thread-safe.
  int64_t NextSegmentTime();

  // Cuts the preallocated space off the segments that dead incarnations left:
  // it would count as records that wait. Their records stay.
  void TrimDeadSegments() const;

  // Returns the total size of all segments except `except`.
  absl::StatusOr<uint64_t> SegmentBytes(const std::string& except) const;
  // Returns the space of the disk that this process may still fill.
  absl::StatusOr<uint64_t> FreeBytes() const;

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
