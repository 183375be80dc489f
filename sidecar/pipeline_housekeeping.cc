// What a pipeline does beside the join: syncs, rotates, and removes what is no
// longer needed.
#include <algorithm>
#include <limits>
#include <vector>

#include "core/base/status_macros.h"
#include "io/clocks.h"
#include "sidecar/pipeline.h"

namespace sortition {

absl::Status Pipeline::DoHousekeeping() {
  const int64_t now_us = clock_();
  const int64_t interval_us = Micros(options_.sync_interval_seconds());
  // A clock that was set back must not delay this.
  if (now_us >= last_sync_us_ && now_us < last_sync_us_ + interval_us) {
    return absl::OkStatus();
  }
  last_sync_us_ = now_us;
  counts_.spool_lag_bytes = LagBytes();
  absl::Status status = WriteMarks();
  if (status.ok()) status = Sync(/*with_place=*/false);
  for (const auto& source : sources_) {
    if (!status.ok()) break;
    status = PassSafeSegments(source.get());
    // Last, because a footer needs free space.
    if (status.ok() && source->writer() != nullptr) {
      status = source->writer()->RotateByAge(now_us);
    }
  }
  if (status.ok()) status = ForgetOldIds();
  if (keeper_ != nullptr) keeper_->Wake(now_us);
  return IsFullDisk(status) ? absl::OkStatus() : status;
}

// Brings all outputs to the disk: a record of one spool may be in the tuple of
// another.
absl::Status Pipeline::Sync(bool with_place) {
  const uint64_t num_written =
      joiner_.num_closed() - (closed_.has_value() ? 1 : 0);
  for (const auto& source : sources_) {
    TupleWriter* writer = source->writer();
    if (writer == nullptr) continue;
    // The place where a spool was begun to be read is saved at once.
    if (with_place || writer->has_unsaved_progress()) {
      RETURN_IF_ERROR(writer->SavePlace(clock_()));
    }
    RETURN_IF_ERROR(writer->Sync());
  }
  num_on_disk_ = num_written;
  return absl::OkStatus();
}

uint32_t Pipeline::OldestNeededSegment(uint32_t spool) const {
  uint32_t needed = joiner_.OldestNeededSegment(spool);
  const auto take = [&](SpoolPlace place) {
    if (place.spool == spool) needed = std::min(needed, place.segment);
  };
  // Records of an output that was not written yet are needed, too.
  if (late_.has_value()) take(late_->place);
  if (closed_.has_value()) {
    take(closed_->place);
    for (const JoinedRecord& record : closed_->records) take(record.place);
    for (const JoinedView& view : closed_->views) take(view.place);
  }
  return needed;
}

// Passes segments of which nothing can reach an output any more, after all
// outputs that hold something of them are on the disk, and so is that they are
// done: a later process takes their absence for a loss otherwise.
absl::Status Pipeline::PassSafeSegments(SpoolSource* source) {
  const uint32_t needed = OldestNeededSegment(source->number());
  while (!source->segments().empty()) {
    const SpoolSource::Segment oldest = source->segments().front();
    if (oldest.ordinal >= needed || !joiner_.IsOver(oldest.last_time_us) ||
        !source->IsOldestDone()) {
      break;
    }
    // Without this segment a decision that was left out could be taken for one
    // that was shown, so the output also says where it stands.
    source->writer()->SetProgress(source->ProgressAfterOldest());
    RETURN_IF_ERROR(Sync(/*with_place=*/true));
    if (!options_.delete_spool()) {
      RETURN_IF_ERROR(source->PassOldest());
      continue;
    }
    std::vector<RememberedId> ids =
        joiner_.IdsOfSegment(oldest.ordinal, source->number());
    // Of nobody: its time says where the records behind it stand.
    if (has_several_) ids.push_back({{}, oldest.last_time_us, 0, true});
    RETURN_IF_ERROR(removed_.Add(source->OldestName(), ids));
    RETURN_IF_ERROR(source->PassOldest());
    ++counts_.removed_segments;
  }
  return absl::OkStatus();
}

// Drops the ids of removed segments that are too old to matter to the records
// that are left: an id matters for two windows.
absl::Status Pipeline::ForgetOldIds() {
  if (!options_.delete_spool()) return absl::OkStatus();
  int64_t first_us = std::numeric_limits<int64_t>::max();
  for (const auto& source : sources_) {
    // A spool without records will have none that are earlier than this.
    const auto& segments = source->segments();
    const bool has_records =
        !segments.empty() && segments.front().first_time_us != 0;
    first_us = std::min(first_us, has_records ? segments.front().first_time_us
                                              : source->frontier_us());
  }
  if (sources_.empty()) return absl::OkStatus();
  return removed_.DropBefore(
      first_us - 2 * Micros(options_.join().reward_wait_time_seconds()) -
      Micros(options_.join().slack_seconds()));
}

uint64_t Pipeline::LagBytes() const {
  uint64_t bytes = 0;
  for (const auto& source : sources_) bytes += source->LagBytes();
  return bytes;
}

}  // namespace sortition
