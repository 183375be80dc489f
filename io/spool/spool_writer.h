#pragma once
// The server's side of the spool: appends records to preallocated segments. A
// record is in the page cache when Append*() returns, so that kill -9 of any
// process loses nothing. One thread calls fdatasync, which limits what a power
// cut can lose, and for which appends wait under durability POWER; another
// thread prepares the next segment.
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/spool/spool_state.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

struct SpoolStats {
  uint64_t records = 0;  // Appended since Open().
  uint64_t bytes = 0;
  uint64_t refused = 0;      // Calls refused (REFUSE).
  uint64_t lost = 0;         // Records counted instead of written (COUNT).
  uint64_t saved = 0;        // Records written again after a failed sync.
  uint64_t segments = 0;     // Opened since Open().
  uint64_t spool_bytes = 0;  // Last known size of all segments.
  uint64_t max_bytes = 0;    // Its limit.
  uint64_t free_bytes = 0;   // Last known free space of the disk.
  uint64_t waiting = 0;      // Appends that wait for a sync.
  double longest_wait_seconds = 0;  // Of those that wait now.
  SpoolState state = SpoolState::kOk;
};

// Hears what happens in a spool. Its functions are called by the spool's own
// threads, but OnAppend() by the thread that appends.
class SpoolObserver {
 public:
  virtual ~SpoolObserver() = default;
  virtual void OnAppend(double seconds) = 0;
  virtual void OnSync(double seconds) = 0;
  virtual void OnEvent(const SpoolEvent& event) = 0;
  // The state has changed.
  virtual void OnState(SpoolState state) = 0;
};

// Hears that the records of an append are on the disk.
class SpoolWaiter {
 public:
  virtual ~SpoolWaiter() = default;
  // Called once by a thread of the spool, which it must not hold up. OK: the
  // records are on the disk, or (COUNT) counted as lost. Otherwise Unavailable:
  // they may be in the log, but must not be answered.
  virtual void OnSynced(const absl::Status& status) = 0;
};

// InvalidArgument if the options do not fit together, or the name of the writer
// cannot be part of a file's name.
absl::Status ValidateSpoolOptions(const config::v1::SpoolOptions& options);

// Thread-safe.
class SpoolWriter {
 public:
  // Creates the directory if it does not exist. Segments of earlier
  // incarnations are closed and left to the reader. FailedPrecondition if
  // another writer holds the directory; InvalidArgument if the writer_id cannot
  // be part of a file name, or max_bytes has no room for two segments.
  // `observer`, if any, must outlive the writer.
  static absl::StatusOr<std::unique_ptr<SpoolWriter>> Open(
      const config::v1::SpoolOptions& options, const std::string& options_text,
      SpoolObserver* observer = nullptr);
  ~SpoolWriter();  // Calls Close().

  // Appends `decision`, whose dense_values must be empty, followed by
  // `dense_values` as its last field: one copy, from the caller's memory to the
  // page cache. Under durability POWER waits until it is on the disk. With
  // REFUSE: ResourceExhausted at the limit or on a full disk, Unavailable while
  // the disk fails.
  absl::Status AppendDecision(const log::v1::Decision& decision,
                              std::span<const float> dense_values);
  // Appends all records of a report. Under POWER, of `durability` or
  // `feedback_durability`, waits until they are on the disk. After a failure
  // the first ones may be in the spool.
  absl::Status Append(std::span<const log::v1::LogRecord> records);

  // The same without waiting for the disk. True: `waiter` will hear of the
  // sync, perhaps before the call returns. False: there is nothing to wait for.
  // Null: the call waits itself.
  absl::StatusOr<bool> AppendDecision(const log::v1::Decision& decision,
                                      std::span<const float> dense_values,
                                      SpoolWaiter* waiter);
  absl::StatusOr<bool> Append(std::span<const log::v1::LogRecord> records,
                              SpoolWaiter* waiter);

  // Appends records that nobody misses, and waits for no disk. False, and no
  // gap is told: the spool is in trouble, closed, or half full, so that there
  // is room for what must not be lost.
  bool TryAppend(std::span<const log::v1::LogRecord> records);

  // Writes the footer, truncates the segment to its size and syncs it. Answers
  // every append that still waits. Later appends fail with FailedPrecondition.
  absl::Status Close();

  SpoolStats stats() const;
  const std::string& writer_id() const;

 private:
  SpoolWriter();
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace sortition
