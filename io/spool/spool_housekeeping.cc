// The threads of a spool: one prepares segments, one syncs them and reports.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/clocks.h"
#include "io/spool/spool_log.h"

namespace sortition {
namespace {

constexpr Seconds kLookInterval{0.2};
// Longest wait for appends that could share a sync.
constexpr Seconds kLongestGathering{0.002};
// So long does no healthy disk take for a sync.
constexpr double kStallSeconds = 2;
constexpr std::chrono::milliseconds kFirstSaveBackoff{200};
constexpr std::chrono::seconds kLongestSaveBackoff{30};
constexpr std::chrono::seconds kAliveInterval{1};

}  // namespace

void SpoolWriter::Rep::PrepareSegments() {
  const Seconds age_interval(options.segment_seconds() / 4);
  while (true) {
    MakePages();
    const bool is_prepared = PrepareNext();
    RotateByAge();
    Report();
    TryAgain();
    SayAlive();
    std::unique_lock lock(mutex);
    prepare_work.wait_for(lock, std::min(kLookInterval, age_interval), [&] {
      // On a full disk an immediate retry would fail as well.
      return stop || (is_prepared && next == nullptr) || current->wants_pages();
    });
    if (stop) return;
  }
}

void SpoolWriter::Rep::RotateByAge() {
  const std::lock_guard lock(mutex);
  if (!unsaved.empty() || current->num_records() == 0 ||
      SpoolClock::now() - current_since < Seconds(options.segment_seconds())) {
    return;
  }
  // If it fails, the current segment stays in use and the next round retries.
  const absl::Status status = StartSegment();
  if (!status.ok()) state.Warn(status);
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
  (*prepared)->MakePages();
  const std::lock_guard lock(mutex);
  next = *std::move(prepared);
  return true;
}

void SpoolWriter::Rep::MakePages() {
  std::shared_ptr<SegmentWriter> segment;
  {
    const std::lock_guard lock(mutex);
    segment = current;
  }
  if (segment->wants_pages()) segment->MakePages();
}

// Nothing is refused any more once this has succeeded: callers that keep away
// from a server that refuses would never find out.
void SpoolWriter::Rep::TryAgain() {
  const std::lock_guard lock(mutex);
  LookAtClock();
  NoteAbsence(SpoolClock::now());
  const SpoolState trouble = state.state();
  if (trouble == SpoolState::kOk || trouble == SpoolState::kStalled) {
    const absl::Status status = WriteGaps();
    if (!status.ok()) state.Warn(status);
    EndTrouble();
    return;
  }
  // Not at every record that the reader removes: there should be some room.
  const uint64_t room =
      trouble == SpoolState::kFull
          ? std::min(options.segment_bytes(), options.max_bytes() / 4)
          : 0;
  if ((trouble != SpoolState::kFull && trouble != SpoolState::kIoError) ||
      next == nullptr || Size() + room > options.max_bytes()) {
    return;
  }
  const SpoolClock::time_point now = SpoolClock::now();
  if (now < try_again_at) return;
  try_again_at =
      now + std::chrono::duration_cast<SpoolClock::duration>(kLookInterval);
  absl::Status status = StartSegment();
  if (status.ok()) status = WriteGaps();
  if (!status.ok()) return;
  state.Succeed();
  EndTrouble();
}

void SpoolWriter::Rep::SayAlive() {
  // Only this thread sets it.
  const SpoolClock::time_point now = SpoolClock::now();
  if (now < said_alive_at + kAliveInterval) return;
  int64_t durable = 0;
  {
    const std::lock_guard lock(mutex);
    said_alive_at = now;
    durable = UnsyncedSince();
  }
  directory->SayAlive(NowUs(), durable);
}

void SpoolWriter::Rep::SyncSegments() {
  const Seconds sync_interval(options.sync_interval_seconds());
  const Seconds look_interval = std::min(kLookInterval, sync_interval);
  SpoolClock::time_point last_sync = SpoolClock::now();
  SpoolClock::time_point last_look = last_sync;
  while (true) {
    CloseOld();
    AnswerWaiting();
    if (SpoolClock::now() - last_look >= look_interval) {
      LookAtDirectory();
      last_look = SpoolClock::now();
    }
    if (SomeoneWaits() || SpoolClock::now() - last_sync >= sync_interval) {
      SyncCurrent();
      last_sync = SpoolClock::now();
    }
    Save();
    AnswerWaiting();
    if (!WaitForSyncWork(look_interval)) return;
  }
}

bool SpoolWriter::Rep::WaitForSyncWork(Seconds longest) {
  std::unique_lock lock(mutex);
  const auto has_work = [&] {
    return stop || !old.empty() || waiting.size() >= sync_at;
  };
  sync_at = 1;
  sync_work.wait_for(lock, longest, has_work);
  if (!waiting.empty()) {
    sync_at = expected_waiting;
    sync_work.wait_for(lock, std::min(sync_time / 4, kLongestGathering),
                       has_work);
  }
  return !stop;
}

bool SpoolWriter::Rep::SomeoneWaits() {
  const std::lock_guard lock(mutex);
  return !waiting.empty();
}

void SpoolWriter::Rep::AnswerWaiting() {
  std::vector<WaitingAppends::Answer> answers;
  {
    const std::lock_guard lock(mutex);
    waiting.AnswerDurable();
    answers = waiting.TakeAnswers();
    if (!answers.empty()) expected_waiting = answers.size() + waiting.size();
    stats.refused += static_cast<uint64_t>(
        std::count_if(answers.begin(), answers.end(),
                      [](const auto& answer) { return !answer.status.ok(); }));
  }
  for (const auto& [waiter, status] : answers) waiter->OnSynced(status);
}

void SpoolWriter::Rep::CloseOld() {
  std::vector<std::shared_ptr<SegmentWriter>> closing;
  {
    const std::lock_guard lock(mutex);
    closing.swap(old);
  }
  for (const auto& segment : closing) {
    if (segment->Close().ok()) continue;
    // A segment that has no footer is recovered by the reader. Its records must
    // be on the disk all the same.
    const absl::Status status = segment->Sync();
    if (!status.ok()) Abandon(segment, status);
  }
}

void SpoolWriter::Rep::SyncCurrent() {
  std::shared_ptr<SegmentWriter> segment;
  bool covers_all = false;
  uint64_t gaps_before = 0;
  const int64_t begin_us = NowUs();
  {
    const std::lock_guard lock(mutex);
    if (!unsaved.empty() && unsaved.back() == current) return;
    segment = current;
    covers_all = old.empty() && unsaved.empty();
    gaps_before = num_gaps;
  }
  const SpoolClock::time_point begin = SpoolClock::now();
  const absl::Status status = segment->Sync();
  sync_time = SpoolClock::now() - begin;
  if (observer != nullptr) observer->OnSync(sync_time.count());
  if (!status.ok()) {
    Abandon(segment, status);
    return;
  }
  const std::lock_guard lock(mutex);
  if (!covers_all) return;
  durable_us = begin_us;
  if (num_gaps == gaps_before) {
    oldest_gap_us = std::numeric_limits<int64_t>::max();
  }
}

void SpoolWriter::Rep::Abandon(const std::shared_ptr<SegmentWriter>& segment,
                               const absl::Status& why) {
  const std::lock_guard lock(mutex);
  AbandonLocked(segment, why);
}

void SpoolWriter::Rep::AbandonLocked(
    const std::shared_ptr<SegmentWriter>& segment, const absl::Status& why) {
  Fail(SpoolState::kSyncFailed, why, UnsyncedSince());
  // It may have been rotated out while its sync was failing.
  std::erase(old, segment);
  // `current` comes last.
  unsaved.insert(segment == current ? unsaved.end() : unsaved.begin(), segment);
}

void SpoolWriter::Rep::Save() {
  const absl::Status status = TrySave();
  if (status.ok()) return;
  const std::lock_guard lock(mutex);
  waiting.AnswerIn(unsaved, NotSynced(status.message()));
}

absl::Status SpoolWriter::Rep::TrySave() {
  std::shared_ptr<SegmentWriter> segment;
  {
    const std::lock_guard lock(mutex);
    if (unsaved.empty()) return absl::OkStatus();
    const SpoolClock::time_point now = SpoolClock::now();
    if (now < save_again_at) {
      return absl::UnavailableError("its records are being saved");
    }
    save_backoff = std::clamp<SpoolClock::duration>(
        2 * save_backoff, kFirstSaveBackoff, kLongestSaveBackoff);
    save_again_at = now + save_backoff;
    absl::Status status = SaveUnsynced();
    if (!status.ok()) {
      Fail(SpoolState::kSyncFailed, status, UnsyncedSince());
      return status;
    }
    segment = current;
  }
  absl::Status status = segment->Sync();
  if (!status.ok()) {
    Abandon(segment, status);
    return status;
  }
  const std::lock_guard lock(mutex);
  if (unsaved.empty()) {
    save_backoff = {};
    state.Recover();
    EndTrouble();
  }
  return absl::OkStatus();
}

void SpoolWriter::Rep::LookAtDirectory() {
  const absl::StatusOr<uint64_t> free_bytes = directory->FreeBytes();
  std::string name;
  uint64_t segments = 0;
  {
    const std::lock_guard lock(mutex);
    if (free_bytes.ok()) stats.free_bytes = *free_bytes;
    // A segment that waits to be closed still has its preallocated size.
    if (!old.empty()) return;
    name = current->name();
    segments = stats.segments;
  }
  const absl::StatusOr<uint64_t> bytes = directory->SegmentBytes(name);
  const std::lock_guard lock(mutex);
  if (!bytes.ok()) {
    state.Warn(bytes.status());
    return;
  }
  // If there was a rotation in between, `bytes` does not fit the new `current`;
  // the next round measures again.
  if (segments == stats.segments) other_bytes = *bytes;
}

void SpoolWriter::Rep::Report() {
  std::vector<SpoolEvent> events;
  SpoolState now = SpoolState::kOk;
  {
    const std::lock_guard lock(mutex);
    state.SetStalled(waiting.LongestSeconds(SpoolClock::now()) >=
                     kStallSeconds);
    events = state.TakeEvents(SpoolClock::now());
    now = state.state();
  }
  if (observer == nullptr) return;
  if (std::exchange(reported_state, now) != now) observer->OnState(now);
  for (const SpoolEvent& event : events) observer->OnEvent(event);
}

absl::Status SpoolWriter::Rep::CloseCurrent() {
  const std::lock_guard lock(mutex);
  // Once more, if the first try shows that the disk does not take it.
  absl::Status status;
  for (int attempt = 0; attempt < 2; ++attempt) {
    status = SaveUnsynced();
    if (status.ok()) status = WriteGaps();
    if (status.ok()) status = current->Close(/*is_last=*/true);
    if (status.ok()) break;
    if (!current->Sync().ok() &&
        (unsaved.empty() || unsaved.back() != current)) {
      AbandonLocked(current, status);
    }
  }
  if (status.ok()) directory->SayClosed(NowUs());
  next.reset();
  return status;
}

}  // namespace sortition
