#pragma once
// The server's side of the spool: appends records to preallocated segments. A
// record is in the page cache when Append*() returns: kill -9 of any process
// loses nothing; fdatasync by a thread of its own bounds what a power cut
// takes, and another thread prepares the next segment.
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

struct SpoolStats {
  uint64_t records = 0;  // Appended since Open().
  uint64_t bytes = 0;
  uint64_t refused = 0;      // Append calls refused at the limit (REFUSE).
  uint64_t lost = 0;         // Records counted instead of written (COUNT).
  uint64_t segments = 0;     // Opened since Open().
  uint64_t spool_bytes = 0;  // Of all segments in the directory, at last look.
  uint64_t syncs = 0;
  double sync_seconds = 0;  // Sum.
};

// Thread-safe.
class SpoolWriter {
 public:
  // Creates the directory where missing. Segments of earlier incarnations are
  // left to the reader. FailedPrecondition where another writer holds it,
  // InvalidArgument for a writer_id that cannot be part of a file name.
  static absl::StatusOr<std::unique_ptr<SpoolWriter>> Open(
      const config::v1::SpoolOptions& options, const std::string& options_text);
  ~SpoolWriter();  // Close()

  // Appends `decision`, whose dense_values must be empty, followed by
  // `dense_values` as its last field: one copy, from the caller's memory to the
  // page cache. ResourceExhausted at the limit or on a full disk (REFUSE).
  absl::Status AppendDecision(const log::v1::Decision& decision,
                              std::span<const float> dense_values);
  // Appends all records. Where it fails, the first ones may stand in the spool
  // nevertheless.
  absl::Status Append(std::span<const log::v1::LogRecord> records);

  // Footer, fdatasync, truncation to size. Later appends are
  // FailedPrecondition.
  absl::Status Close();

  SpoolStats stats() const;

 private:
  SpoolWriter();
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace sortition
