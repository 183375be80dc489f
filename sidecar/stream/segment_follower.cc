#include "sidecar/stream/segment_follower.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/posix_status.h"
#include "io/segments/parse_message.h"
#include "io/segments/segment_file.h"
#include "io/segments/segment_recovery.h"
#include "process/log.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {
namespace {

// A footer has a few dozen bytes: larger records need not be parsed.
constexpr size_t kMostFooterBytes = 256;

bool IsFooter(absl::string_view payload) {
  log::v1::LogRecord record;
  return payload.size() <= kMostFooterBytes && ParseMessage(payload, &record) &&
         record.has_footer();
}

absl::StatusOr<std::string> ReadBytes(const std::string& path, uint64_t offset,
                                      uint64_t size) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return PosixStatus(errno, path, "cannot open");
  const absl::Cleanup closer = [fd] { close(fd); };
  std::string bytes;
  ReadAt(fd, offset, size, &bytes);
  if (bytes.size() < size) return PosixStatus(EIO, path, "cannot read");
  return bytes;
}

}  // namespace

void SegmentFollower::GoTo(std::string segment, uint64_t bytes,
                           bool is_complete) {
  segment_ = std::move(segment);
  previous_.clear();
  offset_ = intact_end_ = bytes;
  is_complete_ = is_complete;
  has_ended_ = is_recovered_ = is_caught_up_ = false;
  reader_.reset();
}

uint64_t SegmentFollower::RemainingBytes() const {
  if (is_caught_up_) return 0;
  const absl::StatusOr<std::vector<std::string>> names = ListSegments(dir_);
  if (!names.ok()) return 0;
  uint64_t bytes = 0;
  for (const std::string& name : *names) {
    if (name < segment_ || (name == segment_ && is_complete_)) continue;
    std::error_code gone;
    const uint64_t size = std::filesystem::file_size(PathOf(name), gone);
    const uint64_t passed = name == segment_ ? offset_ : 0;
    if (!gone && size > passed) bytes += size - passed;
  }
  return bytes;
}

// Opens the current segment, or the next one if that is complete. Returns false
// if there is none.
absl::StatusOr<bool> SegmentFollower::OpenNext() {
  if (is_complete_) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, ListSegments(dir_));
    const auto next = std::upper_bound(names.begin(), names.end(), segment_);
    if (next == names.end()) return false;
    previous_ = std::exchange(segment_, *next);
    offset_ = intact_end_ = 0;
    is_complete_ = has_ended_ = is_recovered_ = false;
  }
  absl::StatusOr<std::unique_ptr<SegmentReader>> reader =
      SegmentReader::Open(PathOf(segment_));
  if (absl::IsNotFound(reader.status())) {
    LogError("a spool segment was removed before it was published",
             {{"file", PathOf(segment_)}});
    has_ended_ = true;
    return true;
  }
  RETURN_IF_ERROR(reader.status());
  reader_ = *std::move(reader);
  reader_->Seek(intact_end_);
  return true;
}

// Finds out what it means that there is no further record. `is_whole`: none is
// being written either.
absl::Status SegmentFollower::AtEnd(bool is_whole) {
  if (is_recovered_) {
    has_ended_ = true;
    return absl::OkStatus();
  }
  const std::string path = PathOf(segment_);
  ASSIGN_OR_RETURN(const bool is_live, SegmentHasLiveWriter(path));
  if (is_live) {
    if (!is_whole) return absl::OkStatus();
    ASSIGN_OR_RETURN(is_caught_up_, AreLaterSegmentsEmpty());
    return absl::OkStatus();
  }
  const absl::StatusOr<log::v1::SegmentFooter> footer = RecoverSegment(path);
  if (!footer.ok()) {
    LogError("cannot recover a spool segment; publishing what is intact",
             {{"file", path}, {"error", footer.status().ToString()}});
  }
  is_recovered_ = true;
  ASSIGN_OR_RETURN(reader_, SegmentReader::Open(path));
  reader_->Seek(intact_end_);
  return absl::OkStatus();
}

// Finds the end of what is intact, at least `most_bytes` away if there is so
// much.
absl::Status SegmentFollower::Scan(uint64_t most_bytes) {
  while (!has_ended_ && !is_caught_up_ && intact_end_ < offset_ + most_bytes) {
    absl::string_view payload;
    uint64_t offset = 0;
    ASSIGN_OR_RETURN(const SegmentReader::Outcome outcome,
                     reader_->Next(&payload, &offset));
    switch (outcome) {
      case SegmentReader::Outcome::kRecord:
        has_ended_ = IsFooter(payload);
        intact_end_ = reader_->offset();
        break;
      case SegmentReader::Outcome::kCorrupt:
        intact_end_ = reader_->offset();
        break;
      case SegmentReader::Outcome::kEnd:
      case SegmentReader::Outcome::kIncomplete: {
        const bool was_recovered = is_recovered_;
        RETURN_IF_ERROR(AtEnd(outcome == SegmentReader::Outcome::kEnd));
        if (is_recovered_ == was_recovered) return absl::OkStatus();
        break;  // The footer comes now.
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<SegmentFollower::Piece> SegmentFollower::Next(
    uint64_t most_bytes) {
  is_caught_up_ = false;
  if (reader_ == nullptr && !has_ended_) {
    ASSIGN_OR_RETURN(const bool is_there, OpenNext());
    if (!is_there) {
      is_caught_up_ = true;
      return Piece();
    }
  }
  RETURN_IF_ERROR(Scan(most_bytes));
  Piece piece;
  const uint64_t end = std::min(intact_end_, offset_ + most_bytes);
  if (end > offset_) {
    ASSIGN_OR_RETURN(piece.bytes,
                     ReadBytes(PathOf(segment_), offset_, end - offset_));
  }
  piece.segment = segment_;
  piece.previous_segment = previous_;
  piece.offset = offset_;
  piece.ends_segment = has_ended_ && end == intact_end_;
  if (end < intact_end_) is_caught_up_ = false;
  offset_ = end;
  if (piece.ends_segment) {
    is_complete_ = true;
    has_ended_ = false;
    reader_.reset();
  }
  return piece;
}

// Returns true if later segments have no records: a writer may begin to write
// to the next one before it closes this one.
absl::StatusOr<bool> SegmentFollower::AreLaterSegmentsEmpty() const {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListSegments(dir_));
  for (auto name = std::upper_bound(names.begin(), names.end(), segment_);
       name != names.end(); ++name) {
    ASSIGN_OR_RETURN(const bool is_empty, IsEmptySegment(PathOf(*name)));
    if (!is_empty) return false;
  }
  return true;
}

}  // namespace sortition
