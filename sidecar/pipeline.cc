#include "sidecar/pipeline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "io/clocks.h"
#include "io/segments/parse_message.h"
#include "io/segments/segment.h"
#include "process/log.h"
#include "sidecar/segment_sequence.h"

namespace sortition {
namespace {

absl::Status ValidateRewardRange(const config::v1::JoinOptions& options) {
  if (options.reward_min() <= options.reward_max()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "join.reward_min = ", options.reward_min(),
      ": must be at most join.reward_max = ", options.reward_max()));
}

// Returns true if a record that was joined may be removed before the decision.
bool HasEarlierSegment(const ClosedDecision& closed) {
  return std::any_of(closed.records.begin(), closed.records.end(),
                     [&](const JoinedRecord& record) {
                       return record.place.segment < closed.place.segment;
                     });
}

// Sets what was joined to the decision.
void SetJoined(const ClosedDecision& closed, log::v1::BanditTuple* tuple) {
  tuple->set_reward(closed.reward);
  tuple->set_has_feedback(closed.has_feedback);
  for (const log::v1::CensorReason reason : closed.censored) {
    tuple->add_censored(reason);
  }
  tuple->mutable_rank_rewards()->Add(closed.rank_rewards.begin(),
                                     closed.rank_rewards.end());
  for (const JoinedRecord& record : closed.records) {
    if (record.is_shown) {
      tuple->mutable_shown()->ParseFromString(record.bytes);
    } else {
      tuple->add_feedback()->ParseFromString(record.bytes);
    }
  }
}

}  // namespace

Pipeline::Pipeline(const config::v1::SidecarOptions& options, Metrics* metrics,
                   Clock clock, Clock steady_clock)
    : options_(options),
      clock_(std::move(clock)),
      steady_clock_(std::move(steady_clock)),
      metrics_(metrics, options.join().reward_wait_time_seconds()),
      tail_(options.spool(), options.inotify()),
      joiner_(options.join()),
      losses_(options, &joiner_),
      removed_(options.tuples() + "/memory") {}

absl::StatusOr<std::unique_ptr<Pipeline>> Pipeline::Open(
    const config::v1::SidecarOptions& options, Metrics* metrics, Clock clock,
    Clock steady_clock) {
  RETURN_IF_ERROR(TupleKeeper::Validate(options));
  RETURN_IF_ERROR(ValidateRewardRange(options.join()));
  RETURN_IF_ERROR(MakeDirectories(options.spool()));
  RETURN_IF_ERROR(MakeDirectories(options.tuples()));
  std::unique_ptr<Pipeline> pipeline(new Pipeline(
      options, metrics, std::move(clock), std::move(steady_clock)));
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
  if (TupleKeeper::IsNeeded(options_)) {
    keeper_ = std::make_unique<TupleKeeper>(options_);
  }
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

absl::StatusOr<int64_t> Pipeline::LookAround() {
  const int64_t now_us = clock_();
  latest_us_ = now_us + Micros(options_.join().max_lead_seconds());
  joiner_.SetLatestTime(latest_us_);
  if (steady_clock_ != nullptr) losses_.TakeClock(now_us, steady_clock_());
  ASSIGN_OR_RETURN(const WriterState state, ReadWriterState(options_.spool()));
  // A line that was being written all the time says nothing new.
  if (state.alive_us != 0) writer_state_ = state;
  return losses_.TakeState(writer_state_, now_us);
}

absl::StatusOr<bool> Pipeline::ReadStep() {
  latest_us_ = clock_() + Micros(options_.join().max_lead_seconds());
  joiner_.SetLatestTime(latest_us_);
  int64_t now_us = 0;
  ASSIGN_OR_RETURN(SpoolTail::Outcome outcome, tail_.Next());
  if (outcome == SpoolTail::Outcome::kCaughtUp) {
    // A record that the second look misses has a later time than this one.
    ASSIGN_OR_RETURN(now_us, LookAround());
    ASSIGN_OR_RETURN(outcome, tail_.Next());
  }
  is_caught_up_ = outcome == SpoolTail::Outcome::kCaughtUp;
  if (tail_.current_segment() > last_ordinal_) {
    last_ordinal_ = tail_.current_segment();
    segments_.push_back({last_ordinal_, 0, 0, false});
  }
  switch (outcome) {
    case SpoolTail::Outcome::kRecord:
      TakeRecord(tail_.record());
      return true;
    case SpoolTail::Outcome::kDamage:
      losses_.TakeDamage();
      return true;
    case SpoolTail::Outcome::kSegmentBegun:
      losses_.TakeSegment(tail_.header(), tail_.is_after_missing());
      for (const log::v1::Gap& gap : tail_.header().gaps_before()) {
        NoteLastTime(gap.last_time_us());
      }
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
  losses_.TakeTime(time_us);
  if (segment.first_time_us == 0) segment.first_time_us = time_us;
  NoteLastTime(time_us);
}

// The segment stays until nothing that it says concerns an open window.
void Pipeline::NoteLastTime(int64_t time_us) {
  int64_t& last_us = segments_.back().last_time_us;
  last_us = std::max(last_us, time_us);
}

void Pipeline::TakeRecord(const SpoolTail::Record& record) {
  const absl::StatusOr<RecordView> view = ViewRecord(record.payload);
  bool is_good = false;
  if (view.ok() && view->kind == log::v1::LogRecord::kDecision) {
    const absl::StatusOr<DecisionWire> decision = ViewDecision(view->bytes);
    is_good =
        decision.ok() && TakeDecision(record.place, *decision, view->bytes);
  } else if (view.ok()) {
    is_good = TakeSmallRecord(record, *view);
  }
  if (is_good) return;
  losses_.TakeDamage();
  ++counts_.malformed_records;
  LogError("skipped a malformed record",
           {{"file", tail_.PathOf(tail_.segment(record.place.segment).name)},
            {"offset", absl::StrCat(record.place.offset)}});
}

bool Pipeline::TakeDecision(SpoolPlace place, const DecisionWire& decision,
                            absl::string_view bytes) {
  const double probability = options_.join().keep_probability();
  bool is_kept = true;
  if (probability < 1) {
    const absl::StatusOr<absl::string_view> unit = ViewUnit(bytes);
    if (!unit.ok()) return false;
    is_kept = KeepNumber(*unit, decision.id) < probability;
  }
  NoteTime(decision.time_us);
  joiner_.AddDecision(place, decision.id, decision.time_us,
                      HashBytes(decision.rest).low, is_kept);
  return true;
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
      losses_.TakeGap(gap);
      NoteLastTime(gap.last_time_us());
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
  if (!closed.is_kept) {
    ++counts_.sampled_out;
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
  if (options_.join().keep_probability() < 1) {
    tuple.set_keep_probability(options_.join().keep_probability());
  }
  SetJoined(closed, &tuple);
  RETURN_IF_ERROR(writer_->WriteTuple(tuple, *decision, clock_()));
  ++counts_.tuples;
  ++(closed.has_feedback ? counts_.matched : counts_.defaulted);
  for (const log::v1::CensorReason reason : closed.censored) {
    ++counts_.censored[reason];
  }
  const absl::StatusOr<DecidingModel> model = ViewModel(*decision);
  if (model.ok()) metrics_.ObserveTuple(closed, *model);
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
     : late.reason == log::v1::LateFeedback::OUT_OF_RANGE
         ? counts_.late_out_of_range
         : counts_.late_unknown_decision);
  return absl::OkStatus();
}

void Pipeline::UpdateMetrics() {
  counts_.join = joiner_.counts();
  counts_.tail = tail_.counts();
  counts_.pending = joiner_.num_pending();
  if (is_caught_up_) counts_.spool_lag_bytes = 0;
  counts_.watermark_us = joiner_.watermark_us();
  if (keeper_ != nullptr) counts_.keeper = keeper_->counts();
  metrics_.Update(counts_);
}

absl::Status Pipeline::Close() {
  UpdateMetrics();
  return writer_->Close();
}

}  // namespace sortition
