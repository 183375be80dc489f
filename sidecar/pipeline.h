#pragma once
// The sidecar's work: follows the spool, joins, writes tuples, and removes
// segments that are no longer needed.
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "process/metrics.h"
#include "sidecar/decision_reader.h"
#include "sidecar/directory_lock.h"
#include "sidecar/join/joiner.h"
#include "sidecar/loss_watch.h"
#include "sidecar/record_wire.h"
#include "sidecar/removed_segment_ids.h"
#include "sidecar/sidecar_metrics.h"
#include "sidecar/spool_tail.h"
#include "sidecar/tuple_writer.h"
#include "sidecar/upkeep/tuple_keeper.h"
#include "sortition/config/v1/sidecar.pb.h"

namespace sortition {

// Not thread-safe. May be destroyed, or killed, at any time: the next pipeline
// on the same directories continues so that every decision has one tuple.
class Pipeline {
 public:
  // Microseconds since the epoch.
  using Clock = std::function<int64_t()>;

  // Makes the directories if they are missing. FailedPrecondition if another
  // sidecar works on one of them. `metrics` must outlive the pipeline. Without
  // `steady_clock` it is not noticed when `clock` is set.
  static absl::StatusOr<std::unique_ptr<Pipeline>> Open(
      const config::v1::SidecarOptions& options, Metrics* metrics, Clock clock,
      Clock steady_clock = nullptr);

  // Takes at most `max_steps` steps; a step reads a record or writes a tuple or
  // a late record. Returns false if there is nothing to do until Wait()
  // returns.
  absl::StatusOr<bool> Poll(uint64_t max_steps);

  // Waits until the spool may have changed, at most `seconds`.
  void Wait(double seconds) { tail_.Wait(seconds); }

  // Closes the output segments. Decisions whose window is open stay in the
  // spool for the next pipeline.
  absl::Status Close();

  const SidecarCounts& counts() const { return counts_; }

 private:
  // A segment of the spool from which records were read.
  struct Segment {
    uint32_t ordinal = 0;
    int64_t first_time_us = 0;  // Time of its first record; 0: none yet.
    int64_t last_time_us = 0;   // Latest time of a record.
    bool is_done = false;
  };

  Pipeline(const config::v1::SidecarOptions& options, Metrics* metrics,
           Clock clock, Clock steady_clock);
  absl::Status Recover();
  absl::StatusOr<bool> Step();
  absl::StatusOr<bool> ReadStep();
  // Takes the time up to which windows may close if the spool has no further
  // record.
  absl::StatusOr<int64_t> LookAround();
  void TakeRecord(const SpoolTail::Record& record);
  // These return false if the record is malformed. `bytes` is the decision.
  bool TakeDecision(SpoolPlace place, const DecisionWire& decision,
                    absl::string_view bytes);
  bool TakeSmallRecord(const SpoolTail::Record& record, const RecordView& view);
  void NoteTime(int64_t time_us);
  void NoteLastTime(int64_t time_us);
  log::v1::SpoolPosition PositionOf(SpoolPlace place) const;
  absl::Status Write(const ClosedDecision& closed);
  absl::Status Write(const LateRecord& late);
  bool IsFullDisk(const absl::Status& status);
  absl::StatusOr<bool> FinishOutput(const absl::Status& status);
  absl::Status DoHousekeeping();
  absl::Status RemoveSafeSegments();
  absl::Status ForgetOldIds();
  uint64_t LagBytes() const;
  void UpdateMetrics();

  const config::v1::SidecarOptions options_;
  const Clock clock_;
  const Clock steady_clock_;  // May be empty.
  SidecarMetrics metrics_;
  SidecarCounts counts_;
  DirectoryLock spool_lock_;
  DirectoryLock tuples_lock_;
  SpoolTail tail_;
  Joiner joiner_;
  LossWatch losses_;
  WriterState writer_state_;  // The last whole one.
  RemovedSegmentIds removed_;
  DecisionReader decisions_;
  std::unique_ptr<TupleWriter> writer_;
  std::unique_ptr<TupleKeeper> keeper_;  // Null if it has nothing to do.
  std::deque<Segment> segments_;         // Those not removed yet.
  uint32_t last_ordinal_ = 0;            // Of the newest segment there was.
  // Taken from the joiner and not written yet: a full disk may delay it.
  std::optional<ClosedDecision> closed_;
  std::optional<LateRecord> late_;
  bool is_caught_up_ = false;
  int64_t latest_us_ = 0;  // No record is taken to be later than this.
  int64_t last_sync_us_ = 0;
};

}  // namespace sortition
