#pragma once
// Walks the records of segments in order. Holds one record in memory at a time.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// How a segment ended.
struct SegmentEnd {
  bool closed = false;      // It has a footer.
  bool live = false;        // No footer, and its writer still has it open.
  uint64_t bytes = 0;       // Intact frames and what lies between them.
  uint64_t torn_bytes = 0;  // After the last intact frame; no whole record.
};

struct ScannedFrame {
  uint64_t offset = 0;        // Where it begins in the segment.
  absl::string_view payload;  // The bytes of the record.
};

// An error ends the walk. What is given is valid during the call.
class LogVisitor {
 public:
  virtual ~LogVisitor() = default;
  virtual void BeginSegment(const std::string& path) = 0;
  virtual absl::Status Record(const log::v1::LogRecord& record,
                              const ScannedFrame& frame) = 0;
  // The `bytes` from `offset` on are not an intact record that can be parsed.
  virtual absl::Status Corrupt(uint64_t offset, uint64_t bytes) = 0;
  virtual absl::Status EndSegment(const SegmentEnd& end) = 0;
};

// Calls `visitor` for each record of the segments. Skips segments that are
// removed meanwhile (by a sidecar that is done with them). Shows its progress
// under the name `task`, if it has one.
absl::Status ScanSegments(const std::vector<std::string>& paths,
                          LogVisitor* visitor, absl::string_view task = "");
// The same for FindSegmentsWithLate(entries), whose errors it returns.
absl::Status ScanLog(const std::vector<std::string>& entries,
                     LogVisitor* visitor, absl::string_view task = "");

}  // namespace sortition
