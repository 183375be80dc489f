#include "client/logs/log_scan.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "core/base/status_macros.h"
#include "google/protobuf/arena.h"
#include "io/segments/log_paths.h"
#include "io/segments/parse_message.h"
#include "io/segments/segment.h"
#include "io/segments/segment_recovery.h"
#include "process/progress.h"

namespace sortition {
namespace {

// Larger records take more, one by one.
constexpr size_t kRecordBytes = size_t{1} << 18;

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

uint64_t FileBytes(const std::string& path) {
  std::error_code error;
  uint64_t bytes = std::filesystem::file_size(path, error);
  if (error) {
    bytes = std::filesystem::file_size(CompressedSegmentPath(path), error);
  }
  return error ? 0 : bytes;
}

// Shows how far a scan is, in MiB of the files.
class ScanProgress {
 public:
  ScanProgress(absl::string_view task, const std::vector<std::string>& paths) {
    if (task.empty()) return;
    uint64_t bytes = 0;
    for (const std::string& path : paths) bytes += FileBytes(path);
    progress_.emplace(task, "MiB", bytes / kMebibyte);
  }

  void BeginSegment(const std::string& path) {
    if (!progress_.has_value()) return;
    before_ += bytes_;
    bytes_ = FileBytes(path);
  }

  // So many bytes of the segment were read. A compressed file has fewer.
  void ReadTo(uint64_t offset) {
    if (!progress_.has_value()) return;
    const uint64_t mebibytes = (before_ + std::min(offset, bytes_)) / kMebibyte;
    if (mebibytes > shown_) progress_->Add(mebibytes - shown_);
    shown_ = mebibytes;
  }

 private:
  static constexpr uint64_t kMebibyte = uint64_t{1} << 20;

  std::optional<Progress> progress_;
  uint64_t before_ = 0;  // Bytes of the segments that were read.
  uint64_t bytes_ = 0;   // Of the segment that is read.
  uint64_t shown_ = 0;
};

absl::Status ScanSegment(const std::string& path, SegmentReader* reader,
                         LogVisitor* visitor, ScanProgress* progress) {
  // Asked before reading, so that a writer that closes the segment meanwhile
  // counts as live.
  const absl::StatusOr<bool> live = SegmentHasLiveWriter(path);
  visitor->BeginSegment(path);
  SegmentEnd end;
  // Records are parsed into the same memory again and again.
  std::vector<char> memory(kRecordBytes);
  google::protobuf::Arena arena(memory.data(), memory.size());
  while (true) {
    absl::string_view payload;
    uint64_t offset = 0;
    progress->ReadTo(reader->offset());
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
    arena.Reset();
    auto* const record =
        google::protobuf::Arena::CreateMessage<log::v1::LogRecord>(&arena);
    if (!ParseMessage(payload, record)) {
      RETURN_IF_ERROR(visitor->Corrupt(offset, payload.size()));
      continue;
    }
    if (record->has_footer()) end.closed = true;
    RETURN_IF_ERROR(visitor->Record(*record, {offset, payload}));
  }
  end.bytes = reader->offset();
  end.live = !end.closed && live.ok() && *live;
  return visitor->EndSegment(end);
}

}  // namespace

absl::Status ScanSegments(const std::vector<std::string>& paths,
                          LogVisitor* visitor, absl::string_view task) {
  ScanProgress progress(task, paths);
  for (const std::string& path : paths) {
    const auto reader = SegmentReader::Open(path);
    if (absl::IsNotFound(reader.status())) continue;
    RETURN_IF_ERROR(reader.status());
    progress.BeginSegment(path);
    RETURN_IF_ERROR(ScanSegment(path, reader->get(), visitor, &progress));
  }
  return absl::OkStatus();
}

absl::Status ScanLog(const std::vector<std::string>& entries,
                     LogVisitor* visitor, absl::string_view task) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                   FindSegmentsWithLate(entries));
  return ScanSegments(paths, visitor, task);
}

}  // namespace sortition
