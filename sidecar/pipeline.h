#pragma once
// The sidecar's work: follows the spools, joins, writes tuples, and removes
// segments that are no longer needed.
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/clocks.h"
#include "process/metrics.h"
#include "process/repeated_log.h"
#include "process/tracing/tracer.h"
#include "sidecar/directory_lock.h"
#include "sidecar/join/incomplete_watch.h"
#include "sidecar/join/joiner.h"
#include "sidecar/removed_segment_ids.h"
#include "sidecar/sidecar_metrics.h"
#include "sidecar/spool_source.h"
#include "sidecar/spools/spool_wait.h"
#include "sidecar/status/sidecar_status.h"
#include "sidecar/upkeep/tuple_keeper.h"
#include "sortition/config/v1/sidecar.pb.h"

namespace sortition {

// InvalidArgument unless the range of rewards is one.
absl::Status ValidateRewardRange(const config::v1::JoinOptions& options);

// Not thread-safe. May be destroyed, or killed, at any time: the next pipeline
// on the same directories continues so that every decision has one tuple.
class Pipeline {
 public:
  // Microseconds since the epoch.
  using Clock = std::function<int64_t()>;

  // Makes the directory of tuples, and the spool if it is the only one, if they
  // are missing. FailedPrecondition if another sidecar works on one of them, or
  // spools cannot be told from each other. `metrics` must outlive the pipeline.
  // Without `steady_clock` it is not noticed when `clock` is set. `status`,
  // which must outlive the pipeline, hears of its work; null: nobody does.
  // `tracer`, which must outlive it, too, gets a span for each tuple whose
  // request was traced; null: there are none.
  static absl::StatusOr<std::unique_ptr<Pipeline>> Open(
      const config::v1::SidecarOptions& options, Metrics* metrics, Clock clock,
      Clock steady_clock = nullptr, SidecarStatusSource* status = nullptr,
      Tracer* tracer = nullptr);

  // Takes at most `max_steps` steps; a step reads a record or writes a tuple or
  // a late record. With `steady_clock` it ends after 100 ms, however large the
  // records are: signals and the watchdog wait for it. Returns false if there
  // is nothing to do until Wait() returns.
  absl::StatusOr<bool> Poll(uint64_t max_steps);

  // Waits until a spool may have changed, at most `seconds`.
  void Wait(double seconds);

  // Closes the output segments. Decisions whose window is open stay in the
  // spools for the next pipeline.
  absl::Status Close();

  const SidecarCounts& counts() const { return counts_; }

 private:
  Pipeline(const config::v1::SidecarOptions& options, Metrics* metrics,
           Clock clock, Clock steady_clock, SidecarStatusSource* status,
           Tracer* tracer);
  absl::Status Recover();
  absl::Status AddSource(const std::string& dir);
  absl::Status FindSources();
  absl::Status NoteWriter(const SpoolSource& source);
  absl::StatusOr<std::vector<std::string>> AllSegments() const;

  absl::StatusOr<bool> Step();
  absl::StatusOr<bool> ReadStep();
  absl::StatusOr<bool> ReadSources();
  // Finds new spools, and how far those are read that have no record.
  absl::StatusOr<bool> LookAround();
  // Returns the spool whose record comes next; null if that is not known yet.
  SpoolSource* NextInTurn() const;
  void TakeRecord(SpoolSource* source);
  int64_t ReadUntil() const;
  // Takes the next decision whose window is over, if it may be written.
  std::optional<ClosedDecision> PopClosed();

  SpoolSource& SourceOf(SpoolPlace place) const {
    return *sources_[place.spool];
  }
  // Sets the rewards of ranks that depend on the action.
  absl::Status Write(ClosedDecision* closed);
  absl::StatusOr<bool> WriteTuple(ClosedDecision* closed, SpoolSource* source);
  // Adds what shadows think of the decision.
  absl::Status AddViews(const ClosedDecision& closed,
                        log::v1::BanditTuple* tuple);
  absl::Status Write(const LateRecord& late);
  void CountLate(const log::v1::LateFeedback& late);
  absl::Status WriteMarks();
  bool IsFullDisk(const absl::Status& status);
  absl::StatusOr<bool> FinishOutput(const absl::Status& status);
  absl::Status DoHousekeeping();
  absl::Status Sync(bool with_place);
  uint32_t OldestNeededSegment(uint32_t spool) const;
  absl::Status PassSafeSegments(SpoolSource* source);
  absl::Status ForgetOldIds();
  uint64_t LagBytes() const;
  void CountSources();
  void UpdateMetrics();
  // Counts a tuple that was written in metrics and status.
  void CountTuple(const ClosedDecision& closed,
                  const log::v1::BanditTuple& tuple,
                  absl::string_view decision);

  const config::v1::SidecarOptions options_;
  const bool has_pattern_;
  const bool has_several_;  // Or may come to have.
  const int64_t slack_us_;
  const Clock clock_;
  const Clock steady_clock_;                  // May be empty.
  SidecarStatusSource* const status_source_;  // May be null.
  Tracer* const tracer_;                      // May be null.
  std::string problem_;  // What keeps it from working; empty: nothing.
  RepeatedLog full_disk_log_;
  RepeatedLog too_many_log_;
  RepeatedLog tolerated_log_;
  SpoolWait spool_wait_;
  SidecarMetrics metrics_;
  SidecarCounts counts_;
  DirectoryLock tuples_lock_;
  Joiner joiner_;
  ClockSteps clock_steps_;
  IncompleteWatch incomplete_;
  RemovedSegmentIds removed_;
  std::vector<std::unique_ptr<SpoolSource>> sources_;  // By number.
  int64_t found_until_us_ = 0;  // Spools that were made before are known.
  std::unique_ptr<TupleKeeper> keeper_;  // Null if it has nothing to do.
  // Taken from the joiner and not written yet: a full disk may delay it.
  std::optional<ClosedDecision> closed_;
  std::optional<LateRecord> late_;
  std::deque<log::v1::Incomplete> marks_;
  // Decisions with smaller numbers have their outcome on the disk.
  uint64_t num_on_disk_ = 0;
  int64_t latest_us_ = 0;  // No record is taken to be later than this.
  int64_t last_sync_us_ = 0;
};

}  // namespace sortition
