#pragma once
// Walks the records of a segment, or of all segments of a directory and of its
// sub-directory late/, in order. One record is in memory at a time.
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// How a segment ended.
struct SegmentEnd {
  bool closed = false;      // It has a footer.
  bool live = false;        // No footer, and its writer still holds it.
  uint64_t bytes = 0;       // Of intact frames and what lies between them.
  uint64_t torn_bytes = 0;  // Behind the last intact frame, no whole record.
};

class LogVisitor {
 public:
  virtual ~LogVisitor() = default;
  virtual void BeginSegment(const std::string& path) = 0;
  // `offset` is that of the record's frame. An error ends the walk.
  virtual absl::Status Record(const log::v1::LogRecord& record,
                              uint64_t offset) = 0;
  // `bytes` from `offset` on are no intact record, or none that can be parsed.
  virtual absl::Status Corrupt(uint64_t offset, uint64_t bytes) = 0;
  virtual void EndSegment(const SegmentEnd& end) = 0;
};

// NotFound where `path` does not exist. Segments that are removed meanwhile (a
// sidecar is done with them) are passed over.
absl::Status ScanLog(const std::string& path, LogVisitor* visitor);

}  // namespace sortition
