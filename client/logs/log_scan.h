#pragma once
// Walks the records of segments in order. Holds one record in memory at a time.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// How a segment ended.
struct SegmentEnd {
  bool closed = false;      // It has a footer.
  bool live = false;        // No footer, and its writer still has it open.
  uint64_t bytes = 0;       // Intact frames and what lies between them.
  uint64_t torn_bytes = 0;  // After the last intact frame; no whole record.
};

class LogVisitor {
 public:
  virtual ~LogVisitor() = default;
  virtual void BeginSegment(const std::string& path) = 0;
  // `offset` is where the record's frame begins. An error ends the walk.
  virtual absl::Status Record(const log::v1::LogRecord& record,
                              uint64_t offset) = 0;
  // The `bytes` from `offset` on are not an intact record that can be parsed.
  virtual absl::Status Corrupt(uint64_t offset, uint64_t bytes) = 0;
  virtual void EndSegment(const SegmentEnd& end) = 0;
};

// Calls `visitor` for each segment and record of FindSegmentsWithLate(entries),
// whose errors it returns. Skips segments that are removed meanwhile (by a
// sidecar that is done with them).
absl::Status ScanLog(const std::vector<std::string>& entries,
                     LogVisitor* visitor);

}  // namespace sortition
