#include "io/segments/segment_batch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "io/posix_status.h"
#include "io/segments/compressed_file.h"
#include "io/segments/parse_message.h"
#include "io/segments/record_frame.h"
#include "io/segments/segment.h"
#include "io/segments/segment_file.h"
#include "io/segments/segment_recovery.h"

namespace sortition {
namespace {

namespace fs = std::filesystem;

int64_t NowMicros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Returns the writer_id of a segment; empty if the file is not a segment.
std::string WriterOf(const std::string& path) {
  const auto reader = SegmentReader::Open(path);
  if (!reader.ok()) return {};
  absl::string_view payload;
  uint64_t offset = 0;
  const auto outcome = (*reader)->Next(&payload, &offset);
  log::v1::LogRecord record;
  if (!outcome.ok() || *outcome != SegmentReader::Outcome::kRecord ||
      !ParseMessage(payload, &record)) {
    return {};
  }
  return record.header().writer_id();
}

// Checks that `dir` may be used, and sets `*holds_segments` if it has segments
// to be replaced.
absl::Status CheckDirectory(const SegmentBatch::Options& options,
                            bool* holds_segments) {
  *holds_segments = false;
  std::error_code error;
  if (!fs::exists(options.dir, error)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   ListDirectory(options.dir));
  for (const std::string& name : names) {
    const std::string path = absl::StrCat(options.dir, "/", name);
    if (!options.replace) {
      return absl::FailedPreconditionError(absl::StrCat(
          options.dir, " holds ", name, ", must be absent or empty"));
    }
    if (!absl::EndsWith(path, ".seg") || WriterOf(path) != options.writer_id) {
      return absl::FailedPreconditionError(absl::StrCat(
          path, " is not a segment of writer '", options.writer_id,
          "'; only these are replaced; ", options.dir, " is left unchanged"));
    }
    ASSIGN_OR_RETURN(const bool live, SegmentHasLiveWriter(path));
    if (live) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, " is still being written"));
    }
    *holds_segments = true;
  }
  return absl::OkStatus();
}

}  // namespace

SegmentBatch::SegmentBatch(Options options)
    : options_(std::move(options)),
      incarnation_(absl::StrCat(absl::Hex(NowMicros()), "-", getpid())) {}

SegmentBatch::~SegmentBatch() {
  writer_.reset();
  std::error_code ignored;
  if (!staging_.empty()) fs::remove_all(staging_, ignored);
}

absl::StatusOr<std::unique_ptr<SegmentBatch>> SegmentBatch::Create(
    Options options) {
  std::error_code error;
  // Resolves links, because the directory itself is renamed.
  fs::path dir = fs::weakly_canonical(fs::absolute(options.dir, error), error);
  if (error) return PosixStatus(error.value(), options.dir, "cannot resolve");
  if (!dir.has_filename()) dir = dir.parent_path();
  options.dir = dir.string();
  std::unique_ptr<SegmentBatch> batch(new SegmentBatch(std::move(options)));
  bool holds_segments = false;
  RETURN_IF_ERROR(CheckDirectory(batch->options_, &holds_segments));
  batch->parent_ = dir.parent_path().string();
  fs::create_directories(batch->parent_, error);
  if (error) return PosixStatus(error.value(), batch->parent_, "cannot create");
  std::string staging = absl::StrCat(batch->parent_, "/.",
                                     dir.filename().string(), ".tmp-XXXXXX");
  if (mkdtemp(staging.data()) == nullptr) {
    return PosixStatus(errno, staging, "cannot create");
  }
  batch->staging_ = staging;
  if (chmod(staging.c_str(), 0755) != 0) {
    return PosixStatus(errno, staging, "cannot change mode of");
  }
  return batch;
}

absl::Status SegmentBatch::Begin() {
  // Increasing times make the names sort in the order of writing.
  const int64_t created_us =
      options_.created_us > 0 ? options_.created_us : NowMicros();
  last_created_us_ = std::max(created_us, last_created_us_ + 1);
  SegmentWriter::Options segment;
  segment.dir = staging_;
  segment.name =
      SegmentName(last_created_us_, options_.writer_id, num_segments_);
  segment.header.set_format_version(kLogFormatVersion);
  segment.header.set_kind(options_.kind);
  segment.header.set_writer_id(options_.writer_id);
  segment.header.set_incarnation(incarnation_);
  segment.header.set_first_sequence(num_records_);
  segment.header.set_created_time_us(last_created_us_);
  segment.header.set_options(options_.options_text);
  ASSIGN_OR_RETURN(writer_, SegmentWriter::Create(segment));
  ++num_segments_;
  return absl::OkStatus();
}

absl::Status SegmentBatch::Flush() {
  if (num_waiting_ == 0) return absl::OkStatus();
  const absl::string_view frames = frames_;
  RETURN_IF_ERROR(writer_->AppendFrames({&frames, 1}, num_waiting_));
  frames_.clear();
  num_waiting_ = 0;
  return absl::OkStatus();
}

absl::Status SegmentBatch::Close() {
  if (writer_ == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(Flush());
  const std::string path = absl::StrCat(staging_, "/", writer_->name());
  RETURN_IF_ERROR(writer_->Close());
  writer_.reset();
  if (!options_.compress) return absl::OkStatus();
  RETURN_IF_ERROR(
      CompressFile(path, CompressedSegmentPath(path), [] { return false; }));
  if (unlink(path.c_str()) != 0)
    return PosixStatus(errno, path, "cannot remove");
  return absl::OkStatus();
}

absl::Status SegmentBatch::Append(const log::v1::LogRecord& record) {
  payload_.clear();
  if (!record.AppendToString(&payload_)) {
    return absl::InvalidArgumentError("a record is larger than 2 GiB");
  }
  return Append(payload_);
}

absl::Status SegmentBatch::Append(absl::string_view payload) {
  // A write of many frames costs as much as that of one.
  constexpr size_t kWriteBytes = 1 << 18;
  if (writer_ != nullptr && writer_->num_records() + num_waiting_ > 0 &&
      writer_->bytes() + frames_.size() + payload.size() >
          options_.segment_bytes) {
    RETURN_IF_ERROR(Close());
  }
  if (writer_ == nullptr) RETURN_IF_ERROR(Begin());
  AppendFrame(payload, &frames_);
  ++num_waiting_;
  ++num_records_;
  return frames_.size() < kWriteBytes ? absl::OkStatus() : Flush();
}

absl::Status SegmentBatch::Publish() {
  RETURN_IF_ERROR(Close());
  bool holds_segments = false;
  RETURN_IF_ERROR(CheckDirectory(options_, &holds_segments));
  // rename(2) can replace an empty directory, but nothing else.
  const int result = holds_segments
                         ? renameat2(AT_FDCWD, staging_.c_str(), AT_FDCWD,
                                     options_.dir.c_str(), RENAME_EXCHANGE)
                         : rename(staging_.c_str(), options_.dir.c_str());
  if (result != 0) return PosixStatus(errno, options_.dir, "cannot rename to");
  std::error_code ignored;
  if (holds_segments) fs::remove_all(staging_, ignored);  // The replaced ones.
  staging_.clear();
  return SyncDirectory(parent_);
}

}  // namespace sortition
