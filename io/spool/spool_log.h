#pragma once
// What SpoolWriter is made of: the segments of a spool and the threads that
// look after them. Only the sources of SpoolWriter include this.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/clocks.h"
#include "io/segments/segment_writer.h"
#include "io/spool/spool_directory.h"
#include "io/spool/spool_state.h"
#include "io/spool/spool_writer.h"
#include "io/spool/waiting_appends.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// A steady clock, so that setting the system time does not affect ages and
// intervals.
using SpoolClock = SpoolStateMachine::Clock;
using Seconds = std::chrono::duration<double>;

// Says what the state of the writer before tells of the time up to now.
void AddGapsBefore(const WriterState& before, log::v1::SegmentHeader* header);

// A failed sync abandons its segment: the kernel may drop what it could not
// write and report success the next time. What no sync has covered is read
// back and appended to the next segment; records that cannot be read any more
// become a gap. Until then no record is taken; until the other segment is
// synced, the state is kSyncFailed.
struct SpoolWriter::Rep {
  // Whole frames.
  struct Frames {
    std::span<const absl::string_view> pieces;
    uint64_t bytes = 0;
    uint64_t count = 0;
  };

  Rep(const config::v1::SpoolOptions& o, std::string text,
      std::unique_ptr<SpoolDirectory> d, SpoolObserver* its_observer);

  // Require `mutex`, down to Size().
  absl::Status StartSegment();
  absl::Status MakeRoom(uint64_t bytes);
  // Appends the gaps that wait to be told.
  absl::Status WriteGaps();
  absl::Status WriteGap(log::v1::Gap* untold);
  // Appends whole frames to `current` and counts them.
  absl::Status AppendFrames(std::span<const absl::string_view> pieces,
                            uint64_t count);
  void CountLost(uint64_t count, absl::string_view reason);
  // Lets `gap` begin with the trouble, if it has not begun.
  void BeginGap();
  // Adds a gap of an abandoned segment to those that wait.
  void KeepGap(const log::v1::Gap& unsynced);
  // Notes a failure that may have cost records since `since_us`.
  void Fail(SpoolState kind, const absl::Status& why, int64_t since_us);
  // Notes that records are taken and no gap waits.
  void EndTrouble();
  // Since when records may be missing if the current sync fails.
  int64_t UnsyncedSince() const { return std::min(durable_us, oldest_gap_us); }
  void LookAtClock();
  // Notes if there was no sign of life for long.
  void NoteAbsence(SpoolClock::time_point now);
  // Does what option `when_full` says about `count` records that could not be
  // appended.
  absl::Status Refuse(const absl::Status& why, uint64_t count);
  // Appends what is not durable in `unsaved` to another segment, and empties
  // `unsaved`. The caller must sync `current`.
  absl::Status SaveUnsynced();
  // Returns what an append hears whose records could not be synced.
  absl::Status NotSynced(absl::string_view why) const;
  // Ends kFull and kIoError if a new segment can be started, and tells of
  // steps of the clock.
  void TryAgain();
  uint64_t Size() const { return other_bytes + current->bytes(); }

  // Appends `frames` and waits as the durability and `waiter` ask.
  absl::StatusOr<bool> WriteAndWait(
      const Frames& frames, config::v1::SpoolOptions::Durability durability,
      SpoolWaiter* waiter);
  // The same, but null: nobody waits.
  absl::StatusOr<bool> Write(const Frames& frames, SpoolWaiter* waiter);
  absl::StatusOr<bool> WriteLocked(SpoolClock::time_point begin,
                                   const Frames& frames, SpoolWaiter* waiter);

  // The preparing thread. Nothing in it waits for the disk to sync, so that the
  // next segment is ready when a request needs it, and trouble is reported.
  void PrepareSegments();
  void RotateByAge();
  bool PrepareNext();  // False if the disk is full.
  void MakePages();
  void Report();
  void SayAlive();

  // The syncing thread.
  void SyncSegments();
  // Waits until there is something to sync; false: the spool is closed. Callers
  // whose answers have just left soon come back. A sync that began without them
  // would make them wait for it and for the next one, so it is put off a
  // little.
  bool WaitForSyncWork(Seconds longest);
  void CloseOld();
  void SyncCurrent();
  // Abandons `segment`, of which a sync failed with `why`.
  void Abandon(const std::shared_ptr<SegmentWriter>& segment,
               const absl::Status& why);
  // The same; requires `mutex`.
  void AbandonLocked(const std::shared_ptr<SegmentWriter>& segment,
                     const absl::Status& why);
  // Saves what is unsaved, if that is due. Nobody waits for it afterwards.
  void Save();
  absl::Status TrySave();
  bool SomeoneWaits();
  // Tells those that wait what is known by now.
  void AnswerWaiting();
  void LookAtDirectory();
  // Closes `current`, or saves its records elsewhere first.
  absl::Status CloseCurrent();

  const config::v1::SpoolOptions options;
  const std::string options_text;
  const std::string incarnation;
  const std::unique_ptr<SpoolDirectory> directory;
  SpoolObserver* const observer;  // Null: none.

  // Of the preparing thread.
  SpoolState reported_state = SpoolState::kOk;
  // Of the syncing thread.
  Seconds sync_time{0};  // Of the last sync.

  // From the standard library, because ThreadSanitizer supports it but not
  // Debian's Abseil.
  std::mutex mutex;
  // Wake the preparing and the syncing thread.
  std::condition_variable prepare_work;
  std::condition_variable sync_work;
  // Guarded by `mutex`.
  SpoolStateMachine state;
  std::shared_ptr<SegmentWriter> current;
  SpoolClock::time_point current_since;
  SpoolClock::time_point rotate_again_at;  // After a rotation failed.
  SpoolClock::time_point try_again_at;     // To leave kFull and kIoError.
  std::unique_ptr<PreparedSegment> next;
  std::vector<std::shared_ptr<SegmentWriter>> old;
  // Segments whose sync failed; the last may be `current`.
  std::vector<std::shared_ptr<SegmentWriter>> unsaved;
  WaitingAppends waiting;
  uint64_t sync_at = 1;  // So many that wait wake the syncing thread.
  // Those that waited for the last sync or still waited after it.
  uint64_t expected_waiting = 1;
  SpoolClock::time_point save_again_at;  // After saving failed.
  SpoolClock::duration save_backoff{0};
  uint64_t next_sequence = 0;
  uint64_t other_bytes = 0;  // Size of the segments other than `current`.
  uint64_t counter = 0;
  // Gaps that the spool does not tell yet; without times: none.
  log::v1::Gap gap;        // Of lost records and refused calls.
  log::v1::Gap clock_gap;  // Of steps of the clock.
  log::v1::Gap away_gap;   // In which this process did not run.
  // The last signs of life; also guarded by `mutex`.
  SpoolClock::time_point said_alive_at;
  SpoolClock::time_point appended_at;
  ClockSteps clock_steps;
  int64_t trouble_since_us = 0;  // 0: there is no trouble.
  // All records that were appended before this time are on the disk.
  int64_t durable_us = 0;
  // Earliest begin of a gap that is told, but not on the disk.
  int64_t oldest_gap_us = std::numeric_limits<int64_t>::max();
  uint64_t num_gaps = 0;  // Told.
  SpoolStats stats;
  bool closed = false;
  bool stop = false;
  std::thread preparer;
  std::thread syncer;
};

}  // namespace sortition
