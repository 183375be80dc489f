#pragma once
// Reads decisions a second time, when they are emitted.
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/segments/segment.h"

namespace sortition {

// Fast where places come in spool order. Not thread-safe.
class DecisionReader {
 public:
  // The serialised Decision whose record is at `offset` of the segment `path`;
  // valid until the next call. DataLoss where it is not (any more) there.
  absl::StatusOr<absl::string_view> Read(const std::string& path,
                                         uint64_t offset);

 private:
  std::string path_;
  std::unique_ptr<SegmentReader> reader_;
};

}  // namespace sortition
