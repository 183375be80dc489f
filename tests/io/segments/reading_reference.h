#pragma once
// Reading and recovery of a segment as docs/log_format.md states them, on bytes
// in memory: slow, and independent of io/segments/segment.cc.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sortition {

// Returns CRC-32C [RFC 3720] by its definition.
uint32_t ReferenceCrc32c(absl::string_view bytes);

// Returns one frame with this payload.
std::string ReferenceFrame(absl::string_view payload);

// One answer of a reader.
struct ReadStep {
  enum class Kind { kRecord, kCorrupt, kEnd, kIncomplete };
  Kind kind = Kind::kEnd;
  uint64_t offset = 0;
  // The payload of a record; the bytes that were passed over as corrupt.
  std::string bytes;
  friend bool operator==(const ReadStep&, const ReadStep&) = default;
};

// Returns the answers of a reader from the start to the first kEnd or
// kIncomplete.
std::vector<ReadStep> ReferenceRead(absl::string_view segment);

// Returns the same answers of SegmentReader. CHECKs that there is no error.
std::vector<ReadStep> ReadSteps(const std::string& path);

// What a recovery keeps of a segment without footer.
struct Recovered {
  bool has_footer = false;  // Then nothing is changed.
  uint64_t end = 0;         // Offset behind the last intact record.
  uint64_t num_records = 0;
  uint64_t torn_bytes = 0;
};
Recovered ReferenceRecovery(absl::string_view segment);

// Recovers copies of `segment` at `path` in every way, reads them, and CHECKs
// that nothing intact is lost and nothing damaged is returned.
void CheckRecovery(const std::string& segment, const std::string& path);

}  // namespace sortition
