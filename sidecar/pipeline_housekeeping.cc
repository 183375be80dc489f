// What a pipeline does beside the join: syncs, rotates, and removes what is no
// longer needed.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
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
  absl::Status status = writer_->Sync();
  if (status.ok() && options_.delete_spool()) status = RemoveSafeSegments();
  // Last, because a footer needs free space.
  if (status.ok()) status = writer_->RotateByAge(now_us);
  if (keeper_ != nullptr) keeper_->Wake(now_us);
  return IsFullDisk(status) ? absl::OkStatus() : status;
}

// Removes segments of which nothing can reach an output any more, after all
// outputs that hold something of them are on the disk. The newest segment
// stays: its name tells the writer what later names must sort after.
absl::Status Pipeline::RemoveSafeSegments() {
  uint32_t needed = joiner_.OldestNeededSegment();
  // Records of an output that was not written yet are needed, too.
  if (late_.has_value()) needed = std::min(needed, late_->place.segment);
  if (closed_.has_value()) {
    needed = std::min(needed, closed_->place.segment);
    for (const JoinedRecord& record : closed_->records) {
      needed = std::min(needed, record.place.segment);
    }
  }
  while (!segments_.empty()) {
    const Segment& oldest = segments_.front();
    const bool is_newest = oldest.ordinal == tail_.current_segment() &&
                           tail_.later_segments().empty();
    if (!oldest.is_done || is_newest || oldest.ordinal >= needed ||
        !joiner_.IsOver(oldest.last_time_us)) {
      break;
    }
    // Without this segment a decision that was left out could be taken for one
    // that was shown.
    RETURN_IF_ERROR(writer_->SaveSkips(clock_()));
    RETURN_IF_ERROR(writer_->Sync());
    const std::string name = tail_.segment(oldest.ordinal).name;
    RETURN_IF_ERROR(removed_.Add(name, joiner_.IdsOfSegment(oldest.ordinal)));
    const std::string path = tail_.PathOf(name);
    if (unlink(path.c_str()) != 0 && errno != ENOENT) {
      return absl::UnavailableError(
          absl::StrCat("cannot remove ", path, ": ", std::strerror(errno)));
    }
    ++counts_.removed_segments;
    joiner_.AllowForgettingBefore(oldest.ordinal + 1);
    tail_.DropBefore(oldest.ordinal + 1);
    segments_.pop_front();
  }
  return ForgetOldIds();
}

// Drops the ids of removed segments that are too old to matter to the records
// that are left: an id matters for two windows.
absl::Status Pipeline::ForgetOldIds() {
  if (segments_.empty() || segments_.front().first_time_us == 0) {
    return absl::OkStatus();
  }
  return removed_.DropBefore(
      segments_.front().first_time_us -
      2 * Micros(options_.join().reward_wait_time_seconds()) -
      Micros(options_.join().slack_seconds()));
}

uint64_t Pipeline::LagBytes() const {
  uint64_t bytes = tail_.RemainingBytes();
  for (const std::string& name : tail_.later_segments()) {
    std::error_code error;
    const uint64_t size = std::filesystem::file_size(tail_.PathOf(name), error);
    if (!error) bytes += size;
  }
  return bytes;
}

}  // namespace sortition
