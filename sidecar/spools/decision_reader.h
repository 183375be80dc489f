#pragma once
// Reads records a second time, when their tuples are written.
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/segments/segment.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Fast if places come in spool order. Not thread-safe.
class DecisionReader {
 public:
  // Reads records of this kind alone.
  explicit DecisionReader(
      log::v1::LogRecord::RecordCase kind = log::v1::LogRecord::kDecision)
      : kind_(kind) {}

  // Returns the serialised message whose record is at `offset` of the segment
  // `path`; valid until the next call. DataLoss if it is not there (any more).
  absl::StatusOr<absl::string_view> Read(const std::string& path,
                                         uint64_t offset);

 private:
  const log::v1::LogRecord::RecordCase kind_;
  std::string path_;
  std::unique_ptr<SegmentReader> reader_;
};

}  // namespace sortition
