#include "sidecar/segment_sequence.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "io/segments/parse_message.h"
#include "io/segments/segment.h"
#include "io/segments/segment_file.h"
#include "io/segments/segment_recovery.h"
#include "process/log.h"

namespace sortition {
namespace {

// Returns a name that differs between starts: process ids are reused and clocks
// are set back, but hardly both at once.
std::string NewIncarnation() {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return absl::StrCat(absl::Hex(now), "-", getpid());
}

// Returns whether nothing is left of a segment that was recovered: a power cut
// came when it had just begun. It does not tell where to continue, and must not
// be taken for the newest one, which does.
absl::StatusOr<bool> IsFooterAlone(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SegmentReader> reader,
                   SegmentReader::Open(path));
  absl::string_view payload;
  uint64_t offset = 0;
  ASSIGN_OR_RETURN(const SegmentReader::Outcome outcome,
                   reader->Next(&payload, &offset));
  if (outcome != SegmentReader::Outcome::kRecord) return false;
  const absl::StatusOr<RecordView> view = ViewRecord(payload);
  return view.ok() && view->kind == log::v1::LogRecord::kFooter;
}

}  // namespace

int64_t CreatedTimeOf(const std::string& name) {
  uint64_t time_us = 0;
  if (!absl::SimpleHexAtoi(name.substr(0, 16), &time_us)) return 0;
  return static_cast<int64_t>(time_us);
}

SegmentSequence::SegmentSequence(Options options)
    : options_(std::move(options)), incarnation_(NewIncarnation()) {}

absl::StatusOr<std::unique_ptr<SegmentSequence>> SegmentSequence::Open(
    Options options) {
  RETURN_IF_ERROR(MakeDirectories(options.dir));
  std::unique_ptr<SegmentSequence> sequence(
      new SegmentSequence(std::move(options)));
  const std::string& dir = sequence->options_.dir;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListSegments(dir));
  if (names.empty()) return sequence;
  RETURN_IF_ERROR(sequence->Recover(names, sequence->options_.writer_id));
  for (const std::string& continued : sequence->options_.continued) {
    RETURN_IF_ERROR(sequence->Recover(names, continued));
  }
  sequence->last_created_us_ = CreatedTimeOf(names.back());
  return sequence;
}

absl::Status SegmentSequence::Recover(const std::vector<std::string>& names,
                                      const std::string& writer_id) {
  const auto last = std::find_if(
      names.rbegin(), names.rend(),
      [&](const std::string& name) { return WriterIdOf(name) == writer_id; });
  if (last == names.rend()) return absl::OkStatus();
  // Each segment is closed before the next begins: only the last can be torn.
  // Its name without that of a compression: a damaged one is replaced by a copy
  // that is not compressed.
  const std::string path = absl::StrCat(
      options_.dir, "/", absl::StripSuffix(*last, kCompressedSuffix));
  ASSIGN_OR_RETURN(const bool is_live, SegmentHasLiveWriter(path));
  if (is_live) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is being written by another process"));
  }
  ASSIGN_OR_RETURN(const uint64_t bytes,
                   RewriteSegment(path, options_.can_redo));
  if (bytes > 0) {
    LogWarning("cut a segment at its first damage",
               {{"file", path}, {"cut_bytes", bytes}});
  }
  torn_bytes_ += bytes;
  ASSIGN_OR_RETURN(const bool is_lost, IsFooterAlone(path));
  if (!is_lost) return absl::OkStatus();
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return SyncDirectory(options_.dir);
}

absl::Status SegmentSequence::Begin(const OutputPlace& place, int64_t now_us) {
  // The order of names is the order of writing, whatever the clock does.
  const int64_t created_us = std::max(now_us, last_created_us_ + 1);
  SegmentWriter::Options segment;
  segment.dir = options_.dir;
  segment.name = SegmentName(created_us, options_.writer_id, num_segments_);
  segment.preallocate_bytes = options_.preallocate_bytes;
  segment.header.set_format_version(kLogFormatVersion);
  segment.header.set_kind(options_.kind);
  segment.header.set_writer_id(options_.writer_id);
  segment.header.set_incarnation(incarnation_);
  segment.header.set_first_sequence(num_records_);
  segment.header.set_created_time_us(created_us);
  segment.header.set_options(options_.options_text);
  *segment.header.mutable_resume() = place.resume;
  if (place.progress.has_value()) {
    *segment.header.mutable_progress() = *place.progress;
  }
  absl::StatusOr<std::unique_ptr<SegmentWriter>> writer =
      SegmentWriter::Create(segment);
  if (absl::IsResourceExhausted(writer.status())) {
    // The records may need less room than a whole segment.
    segment.preallocate_bytes = 0;
    writer = SegmentWriter::Create(segment);
  }
  ASSIGN_OR_RETURN(writer_, std::move(writer));
  last_created_us_ = created_us;
  begun_us_ = now_us;
  ++num_segments_;
  const absl::Status synced = SyncDirectory(options_.dir);
  // Whatever the reason: to try again would append without syncing the name.
  return synced.ok() ? synced : absl::UnavailableError(synced.message());
}

absl::Status SegmentSequence::Append(std::span<const absl::string_view> pieces,
                                     const OutputPlace& place, int64_t now_us) {
  uint64_t bytes = 0;
  for (const absl::string_view piece : pieces) bytes += piece.size();
  if (writer_ != nullptr && writer_->num_records() > 0 &&
      writer_->bytes() + bytes > options_.segment_bytes) {
    RETURN_IF_ERROR(Close());
  }
  if (writer_ == nullptr) RETURN_IF_ERROR(Begin(place, now_us));
  RETURN_IF_ERROR(writer_->Append(pieces));
  is_synced_ = false;
  ++num_records_;
  return absl::OkStatus();
}

absl::Status SegmentSequence::Rotate(const OutputPlace& place, int64_t now_us) {
  RETURN_IF_ERROR(Close());
  is_synced_ = false;
  return Begin(place, now_us);
}

absl::Status SegmentSequence::RotateByAge(int64_t now_us) {
  if (writer_ == nullptr) return absl::OkStatus();
  // A clock that was set back must not keep a segment open.
  const double age_seconds = static_cast<double>(now_us - begun_us_) * 1e-6;
  const bool is_old =
      age_seconds < 0 || age_seconds >= options_.segment_seconds;
  return is_old ? Close() : absl::OkStatus();
}

absl::Status SegmentSequence::Sync() {
  if (writer_ == nullptr || is_synced_) return absl::OkStatus();
  RETURN_IF_ERROR(writer_->Sync());
  is_synced_ = true;
  return absl::OkStatus();
}

absl::Status SegmentSequence::Close() {
  if (writer_ == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(writer_->Close());
  writer_.reset();
  is_synced_ = true;
  return absl::OkStatus();
}

absl::Status ReadSegment(const std::string& path,
                         log::v1::SegmentHeader* header,
                         const std::function<void(const RecordView&)>& take) {
  const auto opened = SegmentReader::Open(path);
  // An old one was removed since it was listed.
  if (absl::IsNotFound(opened.status())) return absl::OkStatus();
  RETURN_IF_ERROR(opened.status());
  SegmentReader* const reader = opened->get();
  while (true) {
    absl::string_view payload;
    uint64_t offset = 0;
    ASSIGN_OR_RETURN(const SegmentReader::Outcome outcome,
                     reader->Next(&payload, &offset));
    if (outcome == SegmentReader::Outcome::kCorrupt) {
      LogError("skipped a damaged record",
               {{"file", path}, {"offset", offset}});
      continue;
    }
    if (outcome != SegmentReader::Outcome::kRecord) return absl::OkStatus();
    const absl::StatusOr<RecordView> view = ViewRecord(payload);
    if (!view.ok() || view->kind == log::v1::LogRecord::kFooter) continue;
    if (view->kind == log::v1::LogRecord::kHeader) {
      if (!ParseMessage(view->bytes, header)) {
        return absl::DataLossError(absl::StrCat(path, ": malformed header"));
      }
      continue;
    }
    take(*view);
  }
}

absl::Status MakeDirectories(const std::string& dir) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("cannot make directory ", dir, ": ", error.message()));
}

void RemoveTemporaries(const std::string& dir) {
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(dir);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    std::error_code ignored;
    if (absl::EndsWith(name, ".tmp")) {
      std::filesystem::remove(absl::StrCat(dir, "/", name), ignored);
    }
  }
}

}  // namespace sortition
