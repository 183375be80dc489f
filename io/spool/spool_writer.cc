#include "io/spool/spool_writer.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "io/clocks.h"
#include "io/segments/decision_frame.h"
#include "io/segments/record_frame.h"
#include "io/segments/segment.h"
#include "io/spool/spool_log.h"

namespace sortition {
namespace {

using config::v1::SpoolOptions;

// Time between two tries to rotate where rotating fails.
constexpr std::chrono::seconds kRotateAgain{1};

// Holds up a thread until its records are on the disk.
class BlockingWaiter final : public SpoolWaiter {
 public:
  void OnSynced(const absl::Status& status) override {
    const std::lock_guard lock(mutex_);
    status_ = status;
    // Under the lock, since the waiter is gone once Wait() returns.
    synced_.notify_one();
  }

  absl::Status Wait() {
    std::unique_lock lock(mutex_);
    synced_.wait(lock, [&] { return status_.has_value(); });
    return *status_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable synced_;
  std::optional<absl::Status> status_;
};

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
  segment.header.set_format_version(kLogFormatVersion);
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
  prepare_work.notify_one();
  sync_work.notify_one();
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
  if (options.when_full() == SpoolOptions::REFUSE) {
    ++stats.refused;
    BeginGap();
    gap.set_refused_calls(gap.refused_calls() + 1);
    gap.set_reason(std::string(why.message()));
    return why;
  }
  CountLost(count, why.message());
  return absl::OkStatus();
}

absl::StatusOr<bool> SpoolWriter::Rep::Write(const Frames& frames,
                                             SpoolWaiter* waiter) {
  const SpoolClock::time_point begin = SpoolClock::now();
  absl::StatusOr<bool> waits = WriteLocked(begin, frames, waiter);
  if (observer != nullptr) {
    const std::chrono::duration<double> seconds = SpoolClock::now() - begin;
    observer->OnAppend(seconds.count());
  }
  return waits;
}

absl::StatusOr<bool> SpoolWriter::Rep::WriteAndWait(
    const Frames& frames, SpoolOptions::Durability durability,
    SpoolWaiter* waiter) {
  if (durability == SpoolOptions::PROCESS) return Write(frames, nullptr);
  if (waiter != nullptr) return Write(frames, waiter);
  BlockingWaiter here;
  ASSIGN_OR_RETURN(const bool waits, Write(frames, &here));
  if (waits) RETURN_IF_ERROR(here.Wait());
  return false;
}

absl::StatusOr<bool> SpoolWriter::Rep::WriteLocked(SpoolClock::time_point begin,
                                                   const Frames& frames,
                                                   SpoolWaiter* waiter) {
  const std::lock_guard lock(mutex);
  if (closed) {
    return absl::FailedPreconditionError(
        absl::StrCat("spool ", options.dir(), " is closed"));
  }
  if (!unsaved.empty()) {
    const absl::Status why = absl::UnavailableError(absl::StrCat(
        "spool ", options.dir(), " could not be synced and is being saved"));
    Fail(SpoolState::kSyncFailed, why, UnsyncedSince());
    RETURN_IF_ERROR(Refuse(why, frames.count));
    return false;
  }
  const uint64_t records_before = stats.records;
  LookAtClock();
  NoteAbsence(begin);
  absl::Status status = MakeRoom(frames.bytes);
  if (status.ok()) status = WriteGaps();
  if (status.ok()) status = AppendFrames(frames.pieces, frames.count);
  if (!status.ok()) {
    // The record was stamped before it came here.
    Fail(StateAfter(status), status, NowUs() - MicrosSince(begin));
    RETURN_IF_ERROR(
        Refuse(status, frames.count - (stats.records - records_before)));
    return false;
  }
  state.Succeed();
  EndTrouble();
  appended_at = begin;
  if (current->wants_pages()) prepare_work.notify_one();
  if (waiter == nullptr) return false;
  waiting.Add(waiter, current, current->num_records() - frames.count);
  if (waiting.size() >= sync_at) sync_work.notify_one();
  return true;
}

absl::Status SpoolWriter::Rep::NotSynced(absl::string_view why) const {
  // With COUNT lost records are counted, so the answer may leave.
  if (options.when_full() == SpoolOptions::COUNT) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("spool ", options.dir(), " could not be synced: ", why));
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
    const uint64_t first_saved = current->num_records();
    if (unsynced.num_records > 0) {
      const absl::string_view frames(unsynced.frames);
      RETURN_IF_ERROR(AppendFrames({&frames, 1}, unsynced.num_records));
    }
    for (const log::v1::Gap& told : unsynced.gaps) KeepGap(told);
    CountLost(unsynced.num_lost,
              absl::StrCat("not on the disk after a failed sync of ",
                           unsaved.front()->name()));
    stats.saved += unsynced.num_records;
    waiting.Move(*unsaved.front(), unsynced, current, first_saved,
                 NotSynced("the record was lost"));
    unsaved.erase(unsaved.begin());
  }
  // Everything is saved. Gaps that cannot be told yet wait.
  const absl::Status status = WriteGaps();
  if (!status.ok()) state.Warn(status);
  return absl::OkStatus();
}

absl::Status ValidateSpoolOptions(const config::v1::SpoolOptions& options) {
  RETURN_IF_ERROR(ValidateWriterId(options.writer_id()));
  return ValidateMaxBytes(options);
}

SpoolWriter::SpoolWriter() = default;

absl::StatusOr<std::unique_ptr<SpoolWriter>> SpoolWriter::Open(
    const config::v1::SpoolOptions& options, const std::string& options_text,
    SpoolObserver* observer) {
  RETURN_IF_ERROR(ValidateSpoolOptions(options));
  ASSIGN_OR_RETURN(auto directory, SpoolDirectory::Take(options.dir()));
  directory->TrimDeadSegments();
  std::unique_ptr<SpoolWriter> writer(new SpoolWriter);
  writer->rep_ = std::make_unique<Rep>(options, options_text,
                                       std::move(directory), observer);
  Rep& rep = *writer->rep_;
  rep.PrepareNext();
  {
    const std::lock_guard lock(rep.mutex);
    rep.LookAtClock();
    RETURN_IF_ERROR(rep.StartSegment());
    // An error stays, and the syncing thread deals with it.
    rep.current->Sync().IgnoreError();
    rep.said_alive_at = rep.appended_at = SpoolClock::now();
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
  return AppendDecision(decision, dense_values, nullptr).status();
}

absl::Status SpoolWriter::Append(std::span<const log::v1::LogRecord> records) {
  return Append(records, nullptr).status();
}

absl::StatusOr<bool> SpoolWriter::AppendDecision(
    const log::v1::Decision& decision, std::span<const float> dense_values,
    SpoolWaiter* waiter) {
  // The frame is made here, so that checksums are computed outside the lock.
  const DecisionFrame frame(decision, dense_values);
  return rep_->WriteAndWait({frame.pieces(), frame.bytes(), 1},
                            rep_->options.durability(), waiter);
}

absl::StatusOr<bool> SpoolWriter::Append(
    std::span<const log::v1::LogRecord> records, SpoolWaiter* waiter) {
  if (records.empty()) return false;
  std::string frames;
  for (const log::v1::LogRecord& record : records) {
    AppendFrame(record.SerializeAsString(), &frames);
  }
  const absl::string_view piece(frames);
  return rep_->WriteAndWait(
      {{&piece, 1}, frames.size(), records.size()},
      std::max(rep_->options.durability(), rep_->options.feedback_durability()),
      waiter);
}

absl::Status SpoolWriter::Close() {
  {
    const std::lock_guard lock(rep_->mutex);
    if (rep_->closed) return absl::OkStatus();
    rep_->closed = true;
    rep_->stop = true;
    rep_->prepare_work.notify_one();
    rep_->sync_work.notify_one();
  }
  if (!rep_->syncer.joinable()) return absl::OkStatus();
  rep_->preparer.join();
  rep_->syncer.join();
  rep_->CloseOld();
  absl::Status status = rep_->CloseCurrent();
  // Nobody syncs any more: after this, all that could be synced is.
  rep_->AnswerWaiting();
  {
    const std::lock_guard lock(rep_->mutex);
    rep_->waiting.AnswerAll(rep_->NotSynced("it was closed"));
  }
  rep_->AnswerWaiting();
  rep_->Report();
  return status;
}

SpoolStats SpoolWriter::stats() const {
  const std::lock_guard lock(rep_->mutex);
  SpoolStats stats = rep_->stats;
  stats.spool_bytes = rep_->Size();
  stats.max_bytes = rep_->options.max_bytes();
  stats.state = rep_->state.state();
  stats.waiting = rep_->waiting.size();
  stats.longest_wait_seconds = rep_->waiting.LongestSeconds(SpoolClock::now());
  return stats;
}

const std::string& SpoolWriter::writer_id() const {
  return rep_->options.writer_id();
}

}  // namespace sortition
