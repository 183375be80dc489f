#include "io/segments/spool_writer.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/bytes.h"
#include "core/base/status_macros.h"
#include "io/segments/record_frame.h"
#include "io/segments/segment_writer.h"
#include "io/segments/spool_directory.h"

namespace sortition {
namespace {

// A steady clock, so that setting the system time does not affect ages and
// intervals.
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr Seconds kLookInterval{0.2};

// Field numbers of log.proto that are encoded by hand; SpoolWriterTest compares
// the result with that of the protobuf library.
constexpr uint32_t kLengthDelimited = 2;
constexpr uint64_t kDecisionKey =
    (log::v1::LogRecord::kDecisionFieldNumber << 3) | kLengthDelimited;
constexpr uint64_t kDenseValuesKey =
    (log::v1::Decision::kDenseValuesFieldNumber << 3) | kLengthDelimited;

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) {
    out->push_back(static_cast<char>(value | 0x80));
  }
  out->push_back(static_cast<char>(value));
}

std::string NewIncarnation() {
  std::random_device device;
  return absl::StrFormat("%08x%08x", device(), device());
}

// The id becomes part of file names.
absl::Status ValidateWriterId(absl::string_view id) {
  const bool is_good =
      !id.empty() && id.size() <= 64 &&
      std::all_of(id.begin(), id.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
               c == '-' || c == '.';
      });
  if (is_good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("spool.writer_id is '", id,
                   "', must be 1 to 64 letters, digits, '_', '-' or '.'"));
}

bool IsFull(const absl::Status& status) {
  return absl::IsResourceExhausted(status);
}

}  // namespace

struct SpoolWriter::Rep {
  Rep(const config::v1::SpoolOptions& o, std::string text,
      std::unique_ptr<SpoolDirectory> d)
      : options(o), options_text(std::move(text)), directory(std::move(d)) {}

  // The next four require `mutex`.
  absl::Status StartSegment();
  absl::Status MakeRoom(uint64_t bytes);
  absl::Status WriteGap();
  absl::Status Full(const absl::Status& why, uint64_t count);

  // Appends `pieces`, which are `count` whole frames of `bytes` in total.
  absl::Status Write(std::span<const absl::string_view> pieces, uint64_t bytes,
                     uint64_t count);

  // The preparing thread. Nothing in it waits for the disk to sync, so that the
  // next segment is ready when a request needs it.
  void PrepareSegments();
  void RotateByAge();
  bool PrepareNext();  // False if the disk is full.

  // The syncing thread.
  void SyncSegments();
  void CloseOld();
  void SyncCurrent();
  void LookAtDirectory();

  const config::v1::SpoolOptions options;
  const std::string options_text;
  const std::string incarnation = NewIncarnation();
  const std::unique_ptr<SpoolDirectory> directory;

  // From the standard library, because ThreadSanitizer supports it but not
  // Debian's Abseil.
  std::mutex mutex;
  std::condition_variable work;  // `stop`, `next` or `old` have changed.
  // Guarded by `mutex`.
  std::shared_ptr<SegmentWriter> current;
  Clock::time_point current_since;
  std::unique_ptr<PreparedSegment> next;
  std::vector<std::shared_ptr<SegmentWriter>> old;
  uint64_t next_sequence = 0;
  uint64_t other_bytes = 0;  // Size of the segments other than `current`.
  uint64_t counter = 0;
  log::v1::Gap gap;
  SpoolStats stats;
  bool closed = false;
  bool stop = false;
  std::thread preparer;
  std::thread syncer;
};

absl::Status SpoolWriter::Rep::StartSegment() {
  SegmentWriter::Options segment;
  const int64_t now_us = directory->NextSegmentTime();
  segment.dir = options.dir();
  segment.name = SegmentName(now_us, options.writer_id(), counter);
  segment.preallocate_bytes = options.segment_bytes();
  segment.header.set_format_version(1);
  segment.header.set_kind(log::v1::SegmentHeader::SPOOL);
  segment.header.set_writer_id(options.writer_id());
  segment.header.set_incarnation(incarnation);
  segment.header.set_first_sequence(next_sequence);
  segment.header.set_created_time_us(now_us);
  segment.header.set_options(options_text);
  ASSIGN_OR_RETURN(std::shared_ptr<SegmentWriter> started,
                   SegmentWriter::Create(segment, std::move(next)));
  if (current != nullptr) {
    other_bytes += current->bytes();
    old.push_back(std::move(current));
  }
  current = std::move(started);
  current_since = Clock::now();
  ++counter;
  ++stats.segments;
  work.notify_all();
  return absl::OkStatus();
}

absl::Status SpoolWriter::Rep::MakeRoom(uint64_t bytes) {
  if (other_bytes + current->bytes() + bytes > options.max_bytes()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "spool ", options.dir(), " holds ", other_bytes + current->bytes(),
        " bytes, must be at most ", options.max_bytes()));
  }
  if (current->num_records() == 0 ||
      current->bytes() + bytes <= options.segment_bytes()) {
    return absl::OkStatus();
  }
  return StartSegment();
}

absl::Status SpoolWriter::Rep::WriteGap() {
  if (gap.lost_records() == 0) return absl::OkStatus();
  log::v1::LogRecord record;
  *record.mutable_gap() = gap;
  RETURN_IF_ERROR(current->Append(record));
  ++next_sequence;
  gap.Clear();
  return absl::OkStatus();
}

absl::Status SpoolWriter::Rep::Full(const absl::Status& why, uint64_t count) {
  if (options.when_full() == config::v1::SpoolOptions::REFUSE) {
    ++stats.refused;
    return why;
  }
  const int64_t now_us = absl::ToUnixMicros(absl::Now());
  if (gap.lost_records() == 0) gap.set_first_time_us(now_us);
  gap.set_last_time_us(now_us);
  gap.set_lost_records(gap.lost_records() + count);
  gap.set_reason(std::string(why.message()));
  stats.lost += count;
  return absl::OkStatus();
}

absl::Status SpoolWriter::Rep::Write(std::span<const absl::string_view> pieces,
                                     uint64_t bytes, uint64_t count) {
  const std::lock_guard lock(mutex);
  if (closed) {
    return absl::FailedPreconditionError(
        absl::StrCat("spool ", options.dir(), " is closed"));
  }
  absl::Status status = MakeRoom(bytes);
  if (status.ok()) status = WriteGap();
  const uint64_t records_before = current->num_records();
  const uint64_t bytes_before = current->bytes();
  if (status.ok()) status = current->AppendFrames(pieces, count);
  const uint64_t appended = current->num_records() - records_before;
  next_sequence += appended;
  stats.records += appended;
  stats.bytes += current->bytes() - bytes_before;
  return IsFull(status) ? Full(status, count - appended) : status;
}

void SpoolWriter::Rep::PrepareSegments() {
  const Seconds age_interval(options.segment_seconds() / 4);
  while (true) {
    const bool is_prepared = PrepareNext();
    RotateByAge();
    std::unique_lock lock(mutex);
    work.wait_for(lock, std::min(kLookInterval, age_interval), [&] {
      // On a full disk an immediate retry would fail as well.
      return stop || (is_prepared && next == nullptr);
    });
    if (stop) return;
  }
}

void SpoolWriter::Rep::RotateByAge() {
  const std::lock_guard lock(mutex);
  if (current->num_records() == 0 ||
      Clock::now() - current_since < Seconds(options.segment_seconds())) {
    return;
  }
  // If it fails, the current segment stays in use and the next round retries.
  StartSegment().IgnoreError();
}

bool SpoolWriter::Rep::PrepareNext() {
  {
    const std::lock_guard lock(mutex);
    if (next != nullptr) return true;
  }
  // If it fails, rotation creates a segment itself and reports the error.
  auto prepared =
      PreparedSegment::Create(options.dir(), options.segment_bytes());
  if (!prepared.ok()) return false;
  const std::lock_guard lock(mutex);
  next = *std::move(prepared);
  return true;
}

void SpoolWriter::Rep::SyncSegments() {
  const Seconds sync_interval(options.sync_interval_seconds());
  Clock::time_point last_sync = Clock::now();
  while (true) {
    CloseOld();
    LookAtDirectory();
    if (Clock::now() - last_sync >= sync_interval) {
      SyncCurrent();
      last_sync = Clock::now();
    }
    std::unique_lock lock(mutex);
    work.wait_for(lock, std::min(kLookInterval, sync_interval),
                  [&] { return stop || !old.empty(); });
    if (stop) return;
  }
}

void SpoolWriter::Rep::CloseOld() {
  std::vector<std::shared_ptr<SegmentWriter>> closing;
  {
    const std::lock_guard lock(mutex);
    closing.swap(old);
  }
  // A segment that cannot be closed is left to the reader's recovery.
  for (const auto& segment : closing) segment->Close().IgnoreError();
}

void SpoolWriter::Rep::SyncCurrent() {
  std::shared_ptr<SegmentWriter> segment;
  {
    const std::lock_guard lock(mutex);
    segment = current;
  }
  const Clock::time_point begin = Clock::now();
  segment->Sync().IgnoreError();
  const std::lock_guard lock(mutex);
  ++stats.syncs;
  stats.sync_seconds += Seconds(Clock::now() - begin).count();
}

void SpoolWriter::Rep::LookAtDirectory() {
  std::string name;
  uint64_t segments = 0;
  {
    const std::lock_guard lock(mutex);
    // A segment that waits to be closed still has its preallocated size.
    if (!old.empty()) return;
    name = current->name();
    segments = stats.segments;
  }
  const uint64_t bytes = directory->SegmentBytes(name);
  const std::lock_guard lock(mutex);
  // If there was a rotation in between, `bytes` does not fit the new `current`;
  // the next round measures again.
  if (segments == stats.segments) other_bytes = bytes;
}

SpoolWriter::SpoolWriter() = default;

absl::StatusOr<std::unique_ptr<SpoolWriter>> SpoolWriter::Open(
    const config::v1::SpoolOptions& options, const std::string& options_text) {
  RETURN_IF_ERROR(ValidateWriterId(options.writer_id()));
  ASSIGN_OR_RETURN(auto directory, SpoolDirectory::Take(options.dir()));
  std::unique_ptr<SpoolWriter> writer(new SpoolWriter);
  writer->rep_ =
      std::make_unique<Rep>(options, options_text, std::move(directory));
  Rep& rep = *writer->rep_;
  {
    const std::lock_guard lock(rep.mutex);
    RETURN_IF_ERROR(rep.StartSegment());
  }
  rep.LookAtDirectory();
  rep.preparer = std::thread([&rep] { rep.PrepareSegments(); });
  rep.syncer = std::thread([&rep] { rep.SyncSegments(); });
  return writer;
}

SpoolWriter::~SpoolWriter() {
  // Open() may have failed before there was anything to close.
  if (rep_ != nullptr) Close().IgnoreError();
}

absl::Status SpoolWriter::AppendDecision(const log::v1::Decision& decision,
                                         std::span<const float> dense_values) {
  const absl::string_view values = BytesOf(dense_values);
  static thread_local std::string small;
  static thread_local std::string head;
  small.clear();
  head.clear();
  decision.AppendToString(&small);
  if (!values.empty()) {
    AppendVarint(kDenseValuesKey, &small);
    AppendVarint(values.size(), &small);
  }
  AppendVarint(kDecisionKey, &head);
  AppendVarint(small.size() + values.size(), &head);
  // The frame is made here, so that checksums are computed outside the lock.
  const absl::string_view payload[] = {head, small, values};
  const uint64_t payload_bytes = head.size() + small.size() + values.size();
  const FrameHead frame_head = MakeFrameHead(payload_bytes);
  const FrameTail frame_tail = MakeFrameTail(payload);
  const absl::string_view pieces[] = {{frame_head.data(), frame_head.size()},
                                      head,
                                      small,
                                      values,
                                      {frame_tail.data(), frame_tail.size()}};
  return rep_->Write(pieces, FrameBytes(payload_bytes), 1);
}

absl::Status SpoolWriter::Append(std::span<const log::v1::LogRecord> records) {
  if (records.empty()) return absl::OkStatus();
  std::string frames;
  for (const log::v1::LogRecord& record : records) {
    AppendFrame(record.SerializeAsString(), &frames);
  }
  const absl::string_view piece(frames);
  return rep_->Write({&piece, 1}, frames.size(), records.size());
}

absl::Status SpoolWriter::Close() {
  {
    const std::lock_guard lock(rep_->mutex);
    if (rep_->closed) return absl::OkStatus();
    rep_->closed = true;
    rep_->stop = true;
    rep_->work.notify_all();
  }
  if (!rep_->syncer.joinable()) return absl::OkStatus();
  rep_->preparer.join();
  rep_->syncer.join();
  const std::lock_guard lock(rep_->mutex);
  absl::Status status;
  for (const auto& segment : rep_->old) status.Update(segment->Close());
  rep_->old.clear();
  if (rep_->gap.lost_records() > 0) status.Update(rep_->WriteGap());
  status.Update(rep_->current->Close());
  rep_->next.reset();
  return status;
}

SpoolStats SpoolWriter::stats() const {
  const std::lock_guard lock(rep_->mutex);
  SpoolStats stats = rep_->stats;
  stats.spool_bytes = rep_->other_bytes + rep_->current->bytes();
  return stats;
}

}  // namespace sortition
