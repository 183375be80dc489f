#pragma once
// The directory of a spool, locked by its only writer.
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "io/spool/writer_state.h"

namespace sortition {

// Thread-safe.
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
  // is set back or older segments have been removed.
  int64_t NextSegmentTime();

  // What the writer before this one said last; all zeros if there was none.
  const WriterState& state_before() const { return state_before_; }
  // From now on the state is that of this writer. Call it when the first
  // segment tells, on the disk, what became of the writer before.
  void BeginState(int64_t now_us);
  void SayAlive(int64_t now_us, int64_t durable_us);
  // `since_us` as in WriterState; 0: there is no trouble any more.
  void SayTrouble(int64_t since_us, int64_t durable_us);
  void SayClosed(int64_t now_us);

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
  // Require `mutex_`.
  void WriteState();

  const std::string path_;
  int lock_fd_ = -1;
  WriterState state_before_;
  std::mutex mutex_;
  WriterState state_;  // Guarded by `mutex_`.
};

}  // namespace sortition
