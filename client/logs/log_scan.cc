#include "client/logs/log_scan.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <vector>

#include "core/base/status_macros.h"
#include "io/segments/log_paths.h"
#include "io/segments/parse_message.h"
#include "io/segments/segment.h"
#include "io/segments/segment_recovery.h"

namespace sortition {
namespace {

// Returns how many bytes of the file from `offset` on were written: up to the
// last that is not 0, since preallocated bytes are 0.
uint64_t WrittenBytesFrom(const std::string& path, uint64_t offset) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  std::vector<char> chunk(1 << 16);
  uint64_t read = 0;
  uint64_t written = 0;
  while (file) {
    file.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    const uint64_t count = static_cast<uint64_t>(file.gcount());
    for (uint64_t i = 0; i < count; ++i) {
      if (chunk[i] != 0) written = read + i + 1;
    }
    read += count;
  }
  return written;
}

absl::Status ScanSegment(const std::string& path, SegmentReader* reader,
                         LogVisitor* visitor) {
  // Asked before reading, so that a writer that closes the segment meanwhile
  // counts as live.
  const absl::StatusOr<bool> live = SegmentHasLiveWriter(path);
  visitor->BeginSegment(path);
  SegmentEnd end;
  log::v1::LogRecord record;
  while (true) {
    absl::string_view payload;
    uint64_t offset = 0;
    ASSIGN_OR_RETURN(const SegmentReader::Outcome outcome,
                     reader->Next(&payload, &offset));
    if (outcome == SegmentReader::Outcome::kCorrupt) {
      RETURN_IF_ERROR(visitor->Corrupt(offset, payload.size()));
      continue;
    }
    if (outcome != SegmentReader::Outcome::kRecord) {
      if (outcome == SegmentReader::Outcome::kIncomplete) {
        end.torn_bytes = WrittenBytesFrom(path, reader->offset());
      }
      break;
    }
    if (!ParseMessage(payload, &record)) {
      RETURN_IF_ERROR(visitor->Corrupt(offset, payload.size()));
      continue;
    }
    if (record.has_footer()) end.closed = true;
    RETURN_IF_ERROR(visitor->Record(record, offset));
  }
  end.bytes = reader->offset();
  end.live = !end.closed && live.ok() && *live;
  visitor->EndSegment(end);
  return absl::OkStatus();
}

}  // namespace

absl::Status ScanLog(const std::vector<std::string>& entries,
                     LogVisitor* visitor) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                   FindSegmentsWithLate(entries));
  for (const std::string& path : paths) {
    const auto reader = SegmentReader::Open(path);
    if (absl::IsNotFound(reader.status())) continue;
    RETURN_IF_ERROR(reader.status());
    RETURN_IF_ERROR(ScanSegment(path, reader->get(), visitor));
  }
  return absl::OkStatus();
}

}  // namespace sortition
