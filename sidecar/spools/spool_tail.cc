#include "sidecar/spools/spool_tail.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "io/segments/parse_message.h"
#include "io/segments/segment_recovery.h"
#include "io/segments/segment_writer.h"
#include "process/log.h"
#include "sidecar/spools/record_wire.h"

namespace sortition {
namespace {

// A busy writer wakes the reader at every record. Waiting this long before
// reading lets it take many at once.
constexpr int kCoalesceMs = 5;

int OpenInotify(const std::string& dir) {
  const int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd < 0 || inotify_add_watch(
                    fd, dir.c_str(),
                    IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE) < 0) {
    LogWarning("inotify does not work here, polling instead",
               {{"directory", dir}, {"error", std::strerror(errno)}});
    if (fd >= 0) close(fd);
    return -1;
  }
  return fd;
}

}  // namespace

TailCounts& TailCounts::operator+=(const TailCounts& other) {
  bytes += other.bytes;
  corrupt_records += other.corrupt_records;
  missing_records += other.missing_records;
  recovered_segments += other.recovered_segments;
  torn_bytes += other.torn_bytes;
  out_of_order_segments += other.out_of_order_segments;
  return *this;
}

SpoolTail::SpoolTail(std::string dir, bool use_inotify)
    : dir_(std::move(dir)), inotify_(use_inotify ? OpenInotify(dir_) : -1) {}

SpoolTail::~SpoolTail() {
  if (inotify_ >= 0) close(inotify_);
}

const SpoolTail::Segment& SpoolTail::segment(uint32_t ordinal) const {
  CHECK(ordinal >= first_ordinal_ && ordinal <= current_);
  return segments_[ordinal - first_ordinal_];
}

void SpoolTail::DropBefore(uint32_t ordinal) {
  while (first_ordinal_ < ordinal && segments_.size() > 1) {
    segments_.pop_front();
    ++first_ordinal_;
  }
}

uint64_t SpoolTail::RemainingBytes() const {
  if (reader_ == nullptr) return 0;
  std::error_code error;
  const uint64_t size =
      std::filesystem::file_size(PathOf(segments_.back().name), error);
  return error || size < reader_->offset() ? 0 : size - reader_->offset();
}

void SpoolTail::Wait(std::span<const SpoolTail* const> tails, double seconds) {
  const int timeout_ms = static_cast<int>(std::ceil(seconds * 1e3));
  std::vector<pollfd> events;
  for (const SpoolTail* tail : tails) {
    if (tail->inotify_ >= 0) events.push_back({tail->inotify_, POLLIN, 0});
  }
  if (poll(events.data(), events.size(), timeout_ms) <= 0) return;
  poll(nullptr, 0, std::min(kCoalesceMs, timeout_ms));
  char buffer[16384];
  for (const pollfd& event : events) {
    while (read(event.fd, buffer, sizeof(buffer)) > 0) {
    }
  }
}

// Finds the segments that came since the last call.
absl::Status SpoolTail::List() {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListSegments(dir_));
  const std::string newest = !later_.empty()     ? later_.back()
                             : segments_.empty() ? std::string()
                                                 : segments_.back().name;
  const size_t known = segments_.size() + later_.size();
  const auto first_new = std::upper_bound(names.begin(), names.end(), newest);
  later_.insert(later_.end(), first_new, names.end());
  // A segment that sorts before the current one came too late, because its
  // writer's clock was set back.
  const size_t old = static_cast<size_t>(first_new - names.begin());
  const size_t unknown = old > known ? old - known : 0;
  if (unknown > counts_.out_of_order_segments) {
    LogError(
        "segments appeared before the place already reached; they will be read "
        "after the next start",
        {{"directory", dir_}, {"count", unknown}});
    counts_.out_of_order_segments = unknown;
  }
  return absl::OkStatus();
}

// Opens the next segment. Leaves `reader_` empty if someone removed it.
absl::Status SpoolTail::OpenNext() {
  auto reader = SegmentReader::Open(PathOf(later_.front()));
  if (absl::IsNotFound(reader.status())) {
    LogError("a spool segment was removed before it was read",
             {{"file", PathOf(later_.front())}});
    later_.pop_front();
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(reader.status());
  reader_ = *std::move(reader);
  std::string writer_id(WriterIdOf(later_.front()));
  Segment& segment = segments_.emplace_back();
  segment.name = std::move(later_.front());
  segment.writer_id = std::move(writer_id);
  later_.pop_front();
  ++current_;
  has_dead_writer_ = false;
  return absl::OkStatus();
}

SpoolTail::Outcome SpoolTail::Finish() {
  reader_.reset();
  segments_.back().end_sequence = next_sequence_;
  segments_.back().must_go_on = must_go_on_;
  return Outcome::kSegmentDone;
}

absl::StatusOr<SpoolTail::Outcome> SpoolTail::Next() {
  while (true) {
    if (reader_ == nullptr) {
      if (later_.empty()) RETURN_IF_ERROR(List());
      if (later_.empty()) return Outcome::kCaughtUp;
      RETURN_IF_ERROR(OpenNext());
      if (reader_ == nullptr) continue;
    }
    absl::string_view payload;
    uint64_t offset = 0;
    ASSIGN_OR_RETURN(const SegmentReader::Outcome outcome,
                     reader_->Next(&payload, &offset));
    switch (outcome) {
      case SegmentReader::Outcome::kRecord: {
        ASSIGN_OR_RETURN(const Content content, TakeRecord(payload, offset));
        if (content == Content::kFooter) return Finish();
        return content == Content::kRecord ? Outcome::kRecord
                                           : Outcome::kSegmentBegun;
      }
      case SegmentReader::Outcome::kCorrupt:
        ++counts_.corrupt_records;
        LogError("skipped a damaged record of the spool",
                 {{"file", PathOf(segments_.back().name)},
                  {"offset", offset},
                  {"bytes", payload.size()}});
        return Outcome::kDamage;
      case SegmentReader::Outcome::kEnd:
      case SegmentReader::Outcome::kIncomplete: {
        if (has_dead_writer_) return Finish();
        ASSIGN_OR_RETURN(const Outcome end, AtEnd(outcome));
        if (!has_dead_writer_) return end;
        break;  // Recovered; the footer comes now.
      }
    }
  }
}

// Passes on a payload that is not a LogRecord: the caller counts it.
absl::StatusOr<SpoolTail::Content> SpoolTail::TakeRecord(
    absl::string_view payload, uint64_t offset) {
  record_ = {{current_, offset}, payload};
  const absl::StatusOr<RecordView> view = ViewRecord(payload);
  if (view.ok() && view->kind == log::v1::LogRecord::kFooter) {
    log::v1::SegmentFooter footer;
    if (ParseMessage(view->bytes, &footer) && footer.recovered()) {
      ++counts_.recovered_segments;
      counts_.torn_bytes += footer.torn_bytes();
      LogWarning("read a recovered spool segment, whose writer died",
                 {{"file", PathOf(segments_.back().name)},
                  {"records", footer.num_records()},
                  {"torn_bytes", footer.torn_bytes()}});
    } else {
      // Damaged records are here, and have been counted.
      next_sequence_ = header_.first_sequence() + footer.num_records();
    }
    must_go_on_ =
        !footer.recovered() && footer.has_is_last() && !footer.is_last();
    return Content::kFooter;
  }
  // A header in the middle of a segment is malformed.
  if (!view.ok() || view->kind != log::v1::LogRecord::kHeader || offset > 0) {
    counts_.bytes += payload.size();
    ++next_sequence_;
    return Content::kRecord;
  }
  const std::string incarnation = header_.incarnation();
  if (!ParseMessage(view->bytes, &header_)) return Content::kRecord;
  segments_.back().writer_id = header_.writer_id();
  segments_.back().incarnation = header_.incarnation();
  CheckSequence(incarnation);
  return Content::kHeader;
}

void SpoolTail::CheckSequence(const std::string& incarnation_before) {
  const uint64_t first = header_.first_sequence();
  const bool must_go_on = std::exchange(must_go_on_, false);
  uint64_t expected = next_sequence_;
  next_sequence_ = first;
  is_after_missing_ = false;
  // FindMissingRecords() tells what is missing before the oldest segment.
  if (current_ == 1) return;
  const bool is_same = header_.incarnation() == incarnation_before;
  if (!is_same) expected = 0;
  is_after_missing_ = first > expected || (!is_same && must_go_on);
  if (!is_after_missing_) return;
  // The number of records of a whole incarnation that is gone is not known.
  const uint64_t count = std::max<uint64_t>(1, first - expected);
  counts_.missing_records += count;
  LogError("records are missing from the spool before a segment",
           {{"file", PathOf(segments_.back().name)},
            {"count", count},
            {"is_exact", is_same}});
}

// Finds out what it means that the current segment has no further record now.
absl::StatusOr<SpoolTail::Outcome> SpoolTail::AtEnd(
    SegmentReader::Outcome outcome) {
  ASSIGN_OR_RETURN(const bool is_live,
                   SegmentHasLiveWriter(PathOf(segments_.back().name)));
  if (!is_live) {
    RETURN_IF_ERROR(Recover());
    return Outcome::kWaiting;
  }
  if (outcome == SegmentReader::Outcome::kIncomplete) return Outcome::kWaiting;
  RETURN_IF_ERROR(List());
  ASSIGN_OR_RETURN(const bool is_last, AreLaterSegmentsEmpty());
  return is_last ? Outcome::kCaughtUp : Outcome::kWaiting;
}

// Recovers the current segment. Its dead writer may have left more whole
// records after the reader's place, and then a torn one.
absl::Status SpoolTail::Recover() {
  const std::string path = PathOf(segments_.back().name);
  const uint64_t offset = reader_->offset();
  const absl::StatusOr<log::v1::SegmentFooter> footer = RecoverSegment(path);
  if (!footer.ok()) {
    // The writer is dead all the same: no more records will come.
    LogError("cannot recover a spool segment; reading what is intact",
             {{"file", path}, {"error", footer.status().ToString()}});
  }
  ASSIGN_OR_RETURN(reader_, SegmentReader::Open(path));
  reader_->Seek(offset);
  has_dead_writer_ = true;
  return absl::OkStatus();
}

// Returns true if later segments have no records. A writer prepares its next
// segment ahead of time, and may begin to write there before it closes the old
// one.
absl::StatusOr<bool> SpoolTail::AreLaterSegmentsEmpty() const {
  for (const std::string& name : later_) {
    ASSIGN_OR_RETURN(const bool is_empty, IsEmptySegment(PathOf(name)));
    if (!is_empty) return false;
  }
  return true;
}

}  // namespace sortition
