#include "io/segments/spool_writer.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "io/clocks.h"
#include "io/segments/decision_frame.h"
#include "io/segments/record_frame.h"
#include "io/segments/spool_log.h"

namespace sortition {
namespace {

// Time between two tries to rotate where rotating fails.
constexpr std::chrono::seconds kRotateAgain{1};

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

int64_t MicrosSince(SpoolClock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             SpoolClock::now() - begin)
      .count();
}

// Says what the state of the writer before tells of the time up to now.
void AddGapsBefore(const WriterState& before, log::v1::SegmentHeader* header) {
  const auto add = [header](log::v1::CensorReason kind, int64_t first_us,
                            const char* reason) {
    log::v1::Gap* gap = header->add_gaps_before();
    gap->set_kind(kind);
    gap->set_first_time_us(first_us);
    gap->set_last_time_us(std::max(first_us, NowUs()));
    gap->set_reason(reason);
  };
  if (before.alive_us == 0) return;
  add(log::v1::WRITER_AWAY, before.alive_us, "no writer");
  if (before.trouble_since_us != 0) {
    add(log::v1::LOST, before.trouble_since_us,
        "the writer before ended in trouble");
  }
  if (!before.is_closed && before.boot_id != BootId()) {
    add(log::v1::LOST, before.durable_us,
        "the machine stopped before the writer was closed");
  }
}

// With less, the segment in use and the next one would not fit together.
absl::Status ValidateMaxBytes(const config::v1::SpoolOptions& options) {
  const uint64_t least = 2 * options.segment_bytes();
  if (options.max_bytes() >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "spool.max_bytes = ", options.max_bytes(), ": must be at least ", least,
      ", twice spool.segment_bytes = ", options.segment_bytes()));
}

SpoolState StateAfter(const absl::Status& status) {
  return absl::IsResourceExhausted(status) ? SpoolState::kFull
                                           : SpoolState::kIoError;
}

}  // namespace

SpoolWriter::Rep::Rep(const config::v1::SpoolOptions& o, std::string text,
                      std::unique_ptr<SpoolDirectory> d,
                      SpoolObserver* its_observer)
    : options(o),
      options_text(std::move(text)),
      incarnation(NewIncarnation()),
      directory(std::move(d)),
      observer(its_observer) {}

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
  if (counter == 0) AddGapsBefore(directory->state_before(), &segment.header);
  ASSIGN_OR_RETURN(std::shared_ptr<SegmentWriter> started,
                   SegmentWriter::Create(segment, std::move(next)));
  if (current != nullptr) {
    other_bytes += current->bytes();
    const bool is_abandoned = !unsaved.empty() && unsaved.back() == current;
    if (!is_abandoned) old.push_back(std::move(current));
  }
  current = std::move(started);
  current_since = SpoolClock::now();
  ++counter;
  ++stats.segments;
  work.notify_all();
  return absl::OkStatus();
}

absl::Status SpoolWriter::Rep::MakeRoom(uint64_t bytes) {
  if (Size() + bytes > options.max_bytes()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("spool ", options.dir(), " holds ", Size(),
                     " bytes, must be at most ", options.max_bytes()));
  }
  if (current->is_torn()) return StartSegment();
  if (current->num_records() == 0 ||
      current->bytes() + bytes <= options.segment_bytes()) {
    return absl::OkStatus();
  }
  // If no segment can be started, the current one grows; but not on a full
  // disk, where closed segments are what a reader can remove.
  const SpoolClock::time_point now = SpoolClock::now();
  if (now < rotate_again_at) return absl::OkStatus();
  absl::Status status = StartSegment();
  if (absl::IsResourceExhausted(status)) return status;
  if (!status.ok()) {
    rotate_again_at = now + kRotateAgain;
    state.Warn(status);
  }
  return absl::OkStatus();
}

absl::Status SpoolWriter::Rep::AppendFrames(
    std::span<const absl::string_view> pieces, uint64_t count) {
  const uint64_t records_before = current->num_records();
  const uint64_t bytes_before = current->bytes();
  absl::Status status = current->AppendFrames(pieces, count);
  const uint64_t appended = current->num_records() - records_before;
  next_sequence += appended;
  stats.records += appended;
  stats.bytes += current->bytes() - bytes_before;
  return status;
}

absl::Status SpoolWriter::Rep::Refuse(const absl::Status& why, uint64_t count) {
  if (options.when_full() == config::v1::SpoolOptions::REFUSE) {
    ++stats.refused;
    BeginGap();
    gap.set_refused_calls(gap.refused_calls() + 1);
    gap.set_reason(std::string(why.message()));
    return why;
  }
  CountLost(count, why.message());
  return absl::OkStatus();
}

absl::Status SpoolWriter::Rep::Write(std::span<const absl::string_view> pieces,
                                     uint64_t bytes, uint64_t count) {
  const SpoolClock::time_point begin = SpoolClock::now();
  absl::Status status = WriteLocked(begin, pieces, bytes, count);
  if (observer != nullptr) {
    const std::chrono::duration<double> seconds = SpoolClock::now() - begin;
    observer->OnAppend(seconds.count());
  }
  return status;
}

absl::Status SpoolWriter::Rep::WriteLocked(
    SpoolClock::time_point begin, std::span<const absl::string_view> pieces,
    uint64_t bytes, uint64_t count) {
  const std::lock_guard lock(mutex);
  if (closed) {
    return absl::FailedPreconditionError(
        absl::StrCat("spool ", options.dir(), " is closed"));
  }
  if (!unsaved.empty()) {
    const absl::Status why = absl::UnavailableError(absl::StrCat(
        "spool ", options.dir(), " could not be synced and is being saved"));
    Fail(SpoolState::kSyncFailed, why, UnsyncedSince());
    return Refuse(why, count);
  }
  const uint64_t records_before = stats.records;
  LookAtClock();
  absl::Status status = MakeRoom(bytes);
  if (status.ok()) status = WriteGaps();
  if (status.ok()) status = AppendFrames(pieces, count);
  if (status.ok()) {
    state.Succeed();
    EndTrouble();
    return status;
  }
  // The record was stamped before it came here.
  Fail(StateAfter(status), status, NowUs() - MicrosSince(begin));
  return Refuse(status, count - (stats.records - records_before));
}

absl::Status SpoolWriter::Rep::SaveUnsynced() {
  if (unsaved.empty()) return absl::OkStatus();
  if (unsaved.back() == current) RETURN_IF_ERROR(StartSegment());
  while (!unsaved.empty()) {
    const UnsyncedFrames unsynced = unsaved.front()->ReadUnsynced();
    if (Size() + unsynced.frames.size() > options.max_bytes()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("spool ", options.dir(), " has no room to save ",
                       unsynced.frames.size(), " bytes"));
    }
    if (unsynced.num_records > 0) {
      const absl::string_view frames(unsynced.frames);
      RETURN_IF_ERROR(AppendFrames({&frames, 1}, unsynced.num_records));
    }
    for (const log::v1::Gap& told : unsynced.gaps) KeepGap(told);
    CountLost(unsynced.num_lost,
              absl::StrCat("not on the disk after a failed sync of ",
                           unsaved.front()->name()));
    stats.saved += unsynced.num_records;
    unsaved.erase(unsaved.begin());
  }
  return WriteGaps();
}

SpoolWriter::SpoolWriter() = default;

absl::StatusOr<std::unique_ptr<SpoolWriter>> SpoolWriter::Open(
    const config::v1::SpoolOptions& options, const std::string& options_text,
    SpoolObserver* observer) {
  RETURN_IF_ERROR(ValidateWriterId(options.writer_id()));
  RETURN_IF_ERROR(ValidateMaxBytes(options));
  ASSIGN_OR_RETURN(auto directory, SpoolDirectory::Take(options.dir()));
  directory->TrimDeadSegments();
  std::unique_ptr<SpoolWriter> writer(new SpoolWriter);
  writer->rep_ = std::make_unique<Rep>(options, options_text,
                                       std::move(directory), observer);
  Rep& rep = *writer->rep_;
  {
    const std::lock_guard lock(rep.mutex);
    rep.LookAtClock();
    RETURN_IF_ERROR(rep.StartSegment());
    rep.durable_us = NowUs();
    rep.directory->BeginState(rep.durable_us);
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
  // The frame is made here, so that checksums are computed outside the lock.
  const DecisionFrame frame(decision, dense_values);
  return rep_->Write(frame.pieces(), frame.bytes(), 1);
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
  rep_->CloseOld();
  absl::Status status = rep_->CloseCurrent();
  rep_->Report();
  return status;
}

SpoolStats SpoolWriter::stats() const {
  const std::lock_guard lock(rep_->mutex);
  SpoolStats stats = rep_->stats;
  stats.spool_bytes = rep_->Size();
  stats.max_bytes = rep_->options.max_bytes();
  stats.state = rep_->state.state();
  return stats;
}

}  // namespace sortition
