#include "sidecar/pipeline.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "io/segments/parse_message.h"
#include "io/segments/segment.h"
#include "process/log.h"
#include "sidecar/segment_sequence.h"

namespace sortition {
namespace {

int64_t Micros(double seconds) {
  return static_cast<int64_t>(std::llround(seconds * 1e6));
}

// Returns true if a record that was joined may be removed before the decision.
bool HasEarlierSegment(const ClosedDecision& closed) {
  return std::any_of(closed.records.begin(), closed.records.end(),
                     [&](const JoinedRecord& record) {
                       return record.place.segment < closed.place.segment;
                     });
}

}  // namespace

Pipeline::Pipeline(const config::v1::SidecarOptions& options, Metrics* metrics,
                   Clock clock)
    : options_(options),
      clock_(std::move(clock)),
      metrics_(metrics),
      tail_(options.spool(), options.inotify()),
      joiner_(options.join()),
      removed_(options.tuples() + "/memory") {}

absl::StatusOr<std::unique_ptr<Pipeline>> Pipeline::Open(
    const config::v1::SidecarOptions& options, Metrics* metrics, Clock clock) {
  RETURN_IF_ERROR(MakeDirectories(options.spool()));
  RETURN_IF_ERROR(MakeDirectories(options.tuples()));
  std::unique_ptr<Pipeline> pipeline(
      new Pipeline(options, metrics, std::move(clock)));
  RETURN_IF_ERROR(pipeline->Recover());
  return pipeline;
}

absl::Status Pipeline::Recover() {
  ASSIGN_OR_RETURN(tuples_lock_, DirectoryLock::Take(options_.tuples()));
  if (options_.delete_spool()) {
    ASSIGN_OR_RETURN(spool_lock_, DirectoryLock::Take(options_.spool()));
  } else {
    // Nothing is removed: ids that are forgotten can be read again.
    joiner_.AllowForgettingBefore(std::numeric_limits<uint32_t>::max());
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> segments,
                   ListSegments(options_.spool()));
  ASSIGN_OR_RETURN(
      writer_,
      TupleWriter::Open(options_, segments.empty() ? "" : segments.front()));
  counts_.output_torn_bytes = writer_->torn_bytes();
  ASSIGN_OR_RETURN(const std::vector<RememberedId> ids,
                   removed_.Load(segments));
  for (const RememberedId& id : ids) joiner_.AddRemembered(id);
  last_sync_us_ = clock_();
  return absl::OkStatus();
}

absl::StatusOr<bool> Pipeline::Poll(uint64_t max_steps) {
  bool is_busy = true;
  for (uint64_t step = 0; step < max_steps && is_busy; ++step) {
    ASSIGN_OR_RETURN(is_busy, Step());
  }
  RETURN_IF_ERROR(DoHousekeeping());
  UpdateMetrics();
  return is_busy;
}

// Writes what is ready before it reads more, so that the output depends on the
// order of the spool alone.
absl::StatusOr<bool> Pipeline::Step() {
  if (!late_.has_value()) late_ = joiner_.PopLate();
  if (late_.has_value()) return FinishOutput(Write(*late_));
  if (!closed_.has_value()) closed_ = joiner_.PopClosed();
  if (closed_.has_value()) return FinishOutput(Write(*closed_));
  return ReadStep();
}

// Returns true if the disk is full: the output is tried again until there is
// room, and the spool keeps its records meanwhile.
bool Pipeline::IsFullDisk(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status)) return false;
  if (counts_.full_disk_retries++ == 0) {
    LogError("disk full; waiting for free space",
             {{"error", std::string(status.message())}});
  }
  return true;
}

absl::StatusOr<bool> Pipeline::FinishOutput(const absl::Status& status) {
  if (IsFullDisk(status)) return false;
  RETURN_IF_ERROR(status);
  if (late_.has_value()) {
    late_.reset();
  } else {
    closed_.reset();
  }
  return true;
}

absl::StatusOr<bool> Pipeline::ReadStep() {
  // Read the clock first: a record that Next() misses has a later time.
  const int64_t now_us = clock_();
  latest_us_ = now_us + Micros(options_.join().max_lead_seconds());
  joiner_.SetLatestTime(latest_us_);
  ASSIGN_OR_RETURN(const SpoolTail::Outcome outcome, tail_.Next());
  is_caught_up_ = outcome == SpoolTail::Outcome::kCaughtUp;
  if (tail_.current_segment() > last_ordinal_) {
    last_ordinal_ = tail_.current_segment();
    segments_.push_back({last_ordinal_, 0, 0, false});
  }
  switch (outcome) {
    case SpoolTail::Outcome::kRecord:
      TakeRecord(tail_.record());
      return true;
    case SpoolTail::Outcome::kSegmentDone:
      segments_.back().is_done = true;
      return true;
    case SpoolTail::Outcome::kCaughtUp:
      joiner_.AdvanceTo(now_us);
      late_ = joiner_.PopLate();
      if (!late_.has_value()) closed_ = joiner_.PopClosed();
      return late_.has_value() || closed_.has_value();
    case SpoolTail::Outcome::kWaiting:
      return false;
  }
  return false;
}

void Pipeline::NoteTime(int64_t time_us) {
  Segment& segment = segments_.back();
  time_us = std::min(time_us, latest_us_);
  if (segment.first_time_us == 0) segment.first_time_us = time_us;
  segment.last_time_us = std::max(segment.last_time_us, time_us);
}

void Pipeline::TakeRecord(const SpoolTail::Record& record) {
  const absl::StatusOr<RecordView> view = ViewRecord(record.payload);
  bool is_good = false;
  if (view.ok() && view->kind == log::v1::LogRecord::kDecision) {
    const absl::StatusOr<DecisionView> decision = ViewDecision(view->bytes);
    is_good = decision.ok();
    if (is_good) {
      NoteTime(decision->time_us);
      joiner_.AddDecision(record.place, decision->id, decision->time_us,
                          HashBytes(decision->rest).low);
    }
  } else if (view.ok()) {
    is_good = TakeSmallRecord(record, *view);
  }
  if (is_good) return;
  ++counts_.malformed_records;
  LogError("skipped a malformed record",
           {{"file", tail_.PathOf(tail_.segment(record.place.segment).name)},
            {"offset", absl::StrCat(record.place.offset)}});
}

bool Pipeline::TakeSmallRecord(const SpoolTail::Record& record,
                               const RecordView& view) {
  switch (view.kind) {
    case log::v1::LogRecord::kShown: {
      log::v1::Shown shown;
      if (!ParseMessage(view.bytes, &shown)) return false;
      NoteTime(shown.time_us());
      joiner_.AddShown(record.place, shown);
      return true;
    }
    case log::v1::LogRecord::kFeedback: {
      log::v1::Feedback feedback;
      if (!ParseMessage(view.bytes, &feedback) ||
          !std::isfinite(feedback.reward())) {
        return false;
      }
      NoteTime(feedback.time_us());
      joiner_.AddFeedback(record.place, feedback);
      return true;
    }
    case log::v1::LogRecord::kGap: {
      log::v1::Gap gap;
      if (!ParseMessage(view.bytes, &gap)) return false;
      counts_.gap_records += gap.lost_records();
      return true;
    }
    default:
      return false;
  }
}

log::v1::SpoolPosition Pipeline::PositionOf(SpoolPlace place) const {
  log::v1::SpoolPosition position;
  position.set_segment(tail_.segment(place.segment).name);
  position.set_offset(place.offset);
  return position;
}

absl::Status Pipeline::Write(const ClosedDecision& closed) {
  log::v1::BanditTuple tuple;
  *tuple.mutable_position() = PositionOf(closed.place);
  if (closed.is_ambiguous) {
    ++counts_.ambiguous_decisions;
    return absl::OkStatus();
  }
  if (!closed.is_wanted) {
    ++counts_.not_shown;
    if (HasEarlierSegment(closed)) writer_->Skip(tuple.position());
    return absl::OkStatus();
  }
  if (writer_->HasPassed(tuple.position())) {
    ++counts_.written_before;
    return absl::OkStatus();
  }
  const SpoolTail::Segment& segment = tail_.segment(closed.place.segment);
  const absl::StatusOr<absl::string_view> decision =
      decisions_.Read(tail_.PathOf(segment.name), closed.place.offset);
  if (absl::IsDataLoss(decision.status()) ||
      absl::IsNotFound(decision.status())) {
    ++counts_.unreadable_decisions;
    LogError("a decision was damaged after it was read; it gets no tuple",
             {{"error", std::string(decision.status().message())}});
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(decision.status());
  tuple.set_spool_writer(segment.writer_id);
  tuple.set_reward(closed.reward);
  tuple.set_has_feedback(closed.has_feedback);
  for (const JoinedRecord& record : closed.records) {
    if (record.is_shown) {
      tuple.mutable_shown()->ParseFromString(record.bytes);
    } else {
      tuple.add_feedback()->ParseFromString(record.bytes);
    }
  }
  RETURN_IF_ERROR(writer_->WriteTuple(tuple, *decision, clock_()));
  ++counts_.tuples;
  ++(closed.has_feedback ? counts_.matched : counts_.defaulted);
  for (const JoinedRecord& record : closed.records) {
    if (record.is_shown) continue;
    metrics_.ObserveRewardLatency(
        1e-6 * static_cast<double>(record.time_us - closed.time_us));
  }
  return absl::OkStatus();
}

absl::Status Pipeline::Write(const LateRecord& late) {
  log::v1::LateFeedback message;
  *message.mutable_position() = PositionOf(late.place);
  if (writer_->HasLate(message.position())) return absl::OkStatus();
  message.set_reason(late.reason);
  message.mutable_feedback()->ParseFromString(late.feedback);
  RETURN_IF_ERROR(writer_->WriteLate(message, clock_()));
  ++(late.reason == log::v1::LateFeedback::AFTER_WINDOW
         ? counts_.late_after_window
         : counts_.late_unknown_decision);
  return absl::OkStatus();
}

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

void Pipeline::UpdateMetrics() {
  counts_.join = joiner_.counts();
  counts_.tail = tail_.counts();
  counts_.pending = joiner_.num_pending();
  if (is_caught_up_) counts_.spool_lag_bytes = 0;
  counts_.watermark_us = joiner_.watermark_us();
  metrics_.Update(counts_);
}

absl::Status Pipeline::Close() {
  UpdateMetrics();
  return writer_->Close();
}

}  // namespace sortition
