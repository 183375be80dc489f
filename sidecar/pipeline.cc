#include "sidecar/pipeline.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status_macros.h"
#include "io/clocks.h"
#include "io/segments/parse_message.h"
#include "io/segments/segment.h"
#include "io/spool/find_spools.h"
#include "process/log.h"
#include "sidecar/join/rank_rewards.h"
#include "sidecar/segment_sequence.h"
#include "sidecar/spools/record_wire.h"
#include "sidecar/status_figures.h"
#include "sidecar/tuple_span.h"

namespace sortition {
namespace {

// Returns true if a record that was joined may be removed before the decision.
bool HasEarlierSegment(const ClosedDecision& closed) {
  return std::any_of(closed.records.begin(), closed.records.end(),
                     [&](const JoinedRecord& record) {
                       return record.place.spool != closed.place.spool ||
                              record.place.segment < closed.place.segment;
                     });
}

// Sets what was joined to the decision.
void SetJoined(const ClosedDecision& closed, log::v1::BanditTuple* tuple) {
  tuple->set_reward(closed.reward);
  tuple->set_has_feedback(closed.has_feedback);
  for (const log::v1::CensorReason reason : closed.censored) {
    tuple->add_censored(reason);
  }
  if (closed.shown.has_value()) *tuple->mutable_shown() = *closed.shown;
  for (const JoinedRecord& record : closed.records) {
    if (record.is_shown) continue;
    tuple->add_feedback()->ParseFromString(record.bytes);
  }
  tuple->mutable_rank_rewards()->Add(closed.rank_rewards.begin(),
                                     closed.rank_rewards.end());
}

bool HasPattern(const config::v1::SidecarOptions& options) {
  return std::any_of(options.spool().begin(), options.spool().end(),
                     [](const auto& spool) { return IsSpoolPattern(spool); });
}

// A single spool is made; that of several which is missing may be on a disk
// that is not mounted.
absl::Status CheckSpools(const config::v1::SidecarOptions& options) {
  for (const std::string& spool : options.spool()) {
    if (spool.empty()) {
      return absl::InvalidArgumentError("spool = \"\": must not be empty");
    }
    if (IsSpoolPattern(spool)) continue;
    if (options.spool_size() == 1) return MakeDirectories(spool);
    if (!std::filesystem::is_directory(spool)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "spool = \"", spool,
          "\": there is no such directory; must exist if there are several"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateRewardRange(const config::v1::JoinOptions& options) {
  if (options.reward_min() <= options.reward_max()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "join.reward_min = ", options.reward_min(),
      ": must be at most join.reward_max = ", options.reward_max()));
}

Pipeline::Pipeline(const config::v1::SidecarOptions& options, Metrics* metrics,
                   Clock clock, Clock steady_clock, SidecarStatusSource* status,
                   Tracer* tracer)
    : options_(options),
      has_pattern_(HasPattern(options)),
      has_several_(has_pattern_ || options.spool_size() > 1),
      slack_us_(Micros(options.join().slack_seconds())),
      clock_(std::move(clock)),
      steady_clock_(std::move(steady_clock)),
      status_source_(status),
      tracer_(tracer),
      spool_wait_({options.spool().begin(), options.spool().end()}),
      metrics_(metrics, options.join().reward_wait_time_seconds()),
      joiner_(options.join()),
      incomplete_(options.join()),
      removed_(options.tuples() + "/memory") {}

absl::StatusOr<std::unique_ptr<Pipeline>> Pipeline::Open(
    const config::v1::SidecarOptions& options, Metrics* metrics, Clock clock,
    Clock steady_clock, SidecarStatusSource* status, Tracer* tracer) {
  RETURN_IF_ERROR(ValidateRewardRange(options.join()));
  RETURN_IF_ERROR(CheckSpools(options));
  RETURN_IF_ERROR(MakeDirectories(options.tuples()));
  std::unique_ptr<Pipeline> pipeline(
      new Pipeline(options, metrics, std::move(clock), std::move(steady_clock),
                   status, tracer));
  RETURN_IF_ERROR(pipeline->Recover());
  return pipeline;
}

absl::Status Pipeline::Recover() {
  ASSIGN_OR_RETURN(tuples_lock_, DirectoryLock::Take(options_.tuples()));
  // Not later: the keeper compresses while spools are found.
  RemoveTemporaries(options_.tuples());
  RemoveTemporaries(options_.tuples() + "/late");
  for (const std::string& spool : options_.spool()) {
    if (!IsSpoolPattern(spool)) RETURN_IF_ERROR(AddSource(spool));
  }
  const int64_t now_us = clock_();
  RETURN_IF_ERROR(FindSources());
  found_until_us_ = now_us;
  for (const auto& source : sources_) {
    if (source->writer() == nullptr) continue;
    counts_.output_torn_bytes += source->writer()->torn_bytes();
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> segments, AllSegments());
  ASSIGN_OR_RETURN(const std::vector<RememberedId> ids,
                   removed_.Load(segments));
  for (const RememberedId& id : ids) joiner_.AddRemembered(id);
  if (!ids.empty()) incomplete_.BeginInTheMiddle();
  for (const auto& source : sources_) {
    source->SetRemovedUntil(removed_.LatestTimeOf(source->writer_id()));
  }
  last_sync_us_ = now_us;
  if (TupleKeeper::IsNeeded(options_)) {
    keeper_ = std::make_unique<TupleKeeper>(options_);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> Pipeline::AllSegments() const {
  std::vector<std::string> all;
  for (const auto& source : sources_) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names,
                     ListSegments(source->dir()));
    all.insert(all.end(), names.begin(), names.end());
  }
  std::sort(all.begin(), all.end());
  return all;
}

absl::StatusOr<bool> Pipeline::Poll(uint64_t max_steps) {
  constexpr int64_t kMostUs = 100'000;
  const int64_t end_us = steady_clock_ ? steady_clock_() + kMostUs : 0;
  bool is_busy = true;
  for (uint64_t step = 0; step < max_steps && is_busy; ++step) {
    ASSIGN_OR_RETURN(is_busy, Step());
    if (steady_clock_ && steady_clock_() >= end_us) break;
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
  if (!closed_.has_value()) closed_ = PopClosed();
  if (closed_.has_value()) return FinishOutput(Write(&*closed_));
  return ReadStep();
}

// Returns true if the disk is full: the output is tried again until there is
// room, and the spool keeps its records meanwhile.
bool Pipeline::IsFullDisk(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status)) {
    const bool is_waiting = late_.has_value() || closed_.has_value();
    if (status.ok() && !is_waiting) {
      problem_.clear();
      if (full_disk_log_.End()) {
        LogInfo("the disk of the tuples takes records again");
      }
    }
    return false;
  }
  problem_ = absl::StrCat("disk full: ", status.message());
  ++counts_.full_disk_retries;
  const uint64_t failures = full_disk_log_.Count(clock_());
  if (failures > 0) {
    LogError(
        "the disk of the tuples is full; no tuples are written, and the spool "
        "grows until the server refuses decisions. Free space on this disk, or "
        "set keep_tuples_seconds or keep_tuples_bytes",
        {{"directory", options_.tuples()},
         {"error", std::string(status.message())},
         {"failures", failures}});
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

absl::Status Pipeline::Write(ClosedDecision* closed) {
  SpoolSource& source = SourceOf(closed->place);
  const log::v1::SpoolPosition position = source.PositionOf(closed->place);
  // An output must not pass a copy whose tuple a power cut may still take.
  if (closed->after_number > num_on_disk_) {
    RETURN_IF_ERROR(Sync(/*with_place=*/false));
  }
  // What decides here may be removed first, with the segment of another spool.
  if (closed->is_elsewhere) {
    source.writer()->Skip(position);
    return absl::OkStatus();
  }
  if (closed->is_ambiguous) {
    ++counts_.ambiguous_decisions;
    if (has_several_) source.writer()->Skip(position);
    return absl::OkStatus();
  }
  if (!closed->is_kept) {
    ++counts_.sampled_out;
    if (has_several_ || HasEarlierSegment(*closed)) {
      source.writer()->Skip(position);
    }
    return absl::OkStatus();
  }
  if (!closed->is_wanted) {
    ++counts_.not_shown;
    if (closed->is_empty) ++counts_.unreported_abstentions;
    if (HasEarlierSegment(*closed)) source.writer()->Skip(position);
    return absl::OkStatus();
  }
  if (source.writer()->HasPassed(position)) {
    ++counts_.written_before;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const bool is_written, WriteTuple(closed, &source));
  if (!is_written) return absl::OkStatus();
  ++counts_.tuples;
  ++(closed->has_feedback ? counts_.matched : counts_.defaulted);
  for (const log::v1::CensorReason reason : closed->censored) {
    ++counts_.censored[reason];
  }
  if (!closed->censored.empty()) ++counts_.censored_tuples;
  return absl::OkStatus();
}

// Returns false if the decision cannot be read any more.
absl::StatusOr<bool> Pipeline::WriteTuple(ClosedDecision* closed,
                                          SpoolSource* source) {
  const int64_t start_ns = tracer_ == nullptr ? 0 : absl::GetCurrentTimeNanos();
  const absl::StatusOr<absl::string_view> decision =
      source->ReadDecision(closed->place);
  if (absl::IsDataLoss(decision.status()) ||
      absl::IsNotFound(decision.status())) {
    ++counts_.unreadable_decisions;
    LogError(
        "a decision was damaged or erased after it was read; it gets no tuple",
        {{"error", std::string(decision.status().message())}});
    return false;
  }
  RETURN_IF_ERROR(decision.status());
  log::v1::BanditTuple tuple;
  *tuple.mutable_position() = source->PositionOf(closed->place);
  tuple.set_spool_writer(source->WriterIdAt(closed->place));
  if (options_.join().keep_probability() < 1) {
    tuple.set_keep_probability(options_.join().keep_probability());
  }
  if (NamesCandidates(*closed)) SetRewards(*decision, options_.join(), closed);
  SetJoined(*closed, &tuple);
  RETURN_IF_ERROR(AddViews(*closed, &tuple));
  RETURN_IF_ERROR(source->writer()->WriteTuple(tuple, *decision, clock_()));
  CountTuple(*closed, tuple, *decision);
  if (tracer_ != nullptr) {
    ExportTupleSpan(*closed, tuple, *decision, start_ns,
                    absl::GetCurrentTimeNanos(), tracer_);
  }
  return true;
}

void Pipeline::CountTuple(const ClosedDecision& closed,
                          const log::v1::BanditTuple& tuple,
                          absl::string_view decision) {
  for (const JoinedRecord& record : closed.records) {
    if (record.is_shown) continue;
    ++counts_.reward_waits;
    counts_.reward_wait_seconds +=
        1e-6 * static_cast<double>(record.time_us - closed.time_us);
  }
  const absl::StatusOr<DecidingModel> model = ViewModel(decision);
  if (model.ok()) metrics_.ObserveTuple(closed, *model);
  // The reward of a censored one is not known.
  if (status_source_ != nullptr && closed.censored.empty()) {
    status_source_->AddTuple(tuple, decision);
  }
}

absl::Status Pipeline::AddViews(const ClosedDecision& closed,
                                log::v1::BanditTuple* tuple) {
  for (const JoinedView& view : closed.views) {
    const absl::StatusOr<absl::string_view> bytes =
        SourceOf(view.place).ReadView(view.place);
    const bool is_gone =
        absl::IsDataLoss(bytes.status()) || absl::IsNotFound(bytes.status());
    if (!bytes.ok() && !is_gone) return bytes.status();
    log::v1::ShadowView read;
    if (bytes.ok() && ParseMessage(*bytes, &read)) {
      *tuple->add_shadow_views() = std::move(read);
    } else {
      ++counts_.unreadable_views;
    }
  }
  return absl::OkStatus();
}

void Pipeline::CountLate(const log::v1::LateFeedback& late) {
  switch (late.reason()) {
    case log::v1::LateFeedback::AFTER_WINDOW:
      ++counts_.late_after_window;
      return;
    case log::v1::LateFeedback::OUT_OF_RANGE:
      ++counts_.late_out_of_range;
      return;
    case log::v1::LateFeedback::NO_SUCH_CANDIDATE:
      ++counts_.late_no_such_candidate;
      return;
    case log::v1::LateFeedback::TOO_MANY:
      ++counts_.late_too_many;
      break;
    default:
      ++counts_.late_unknown_decision;
      return;
  }
  const uint64_t feedback = too_many_log_.Count(clock_());
  if (feedback == 0) return;
  LogWarning(
      "decisions got more feedback than join.max_feedback_per_decision, or "
      "more than 1 MiB of it; the rest is in the late segments and not in "
      "their reward",
      {{"limit", options_.join().max_feedback_per_decision()},
       {"feedback", feedback},
       {"decision", late.feedback().decision_id()}});
}

absl::Status Pipeline::Write(const LateRecord& late) {
  SpoolSource& source = SourceOf(late.place);
  log::v1::LateFeedback message;
  message.mutable_feedback()->ParseFromString(late.feedback);
  const bool is_unknown =
      late.reason == log::v1::LateFeedback::UNKNOWN_DECISION;
  *message.mutable_position() = source.PositionOf(late.place);
  if (!source.writer()->HasLate(message.position())) {
    message.set_reason(late.reason);
    RETURN_IF_ERROR(source.writer()->WriteLate(message, clock_()));
    CountLate(message);
  }
  if (!is_unknown) return absl::OkStatus();
  const int64_t time_us = std::min(message.feedback().time_us(), latest_us_);
  const int64_t window_us = Micros(options_.join().reward_wait_time_seconds());
  incomplete_.TakeUnknown(message.feedback().decision_id(), time_us,
                          joiner_.MayMiss(time_us - window_us, time_us));
  return absl::OkStatus();
}

// Says in the log what the feedback of others' decisions shows.
absl::Status Pipeline::WriteMarks() {
  // What is not written yet is not counted yet.
  while (!late_.has_value() && !joiner_.has_late()) {
    std::optional<log::v1::Incomplete> mark =
        incomplete_.Next(joiner_.watermark_us());
    if (!mark.has_value()) break;
    LogError("the log is incomplete", {{"reason", mark->reason()}});
    marks_.push_back(*std::move(mark));
  }
  const std::optional<log::v1::Incomplete> tolerated =
      incomplete_.TakeTolerated();
  if (tolerated.has_value() && tolerated_log_.Count(clock_()) > 0) {
    LogWarning(
        "feedback for unknown decisions, within join.max_unknown_share; the "
        "log counts as complete",
        {{"reason", tolerated->reason()}});
  }
  const auto source =
      std::find_if(sources_.begin(), sources_.end(),
                   [](const auto& s) { return s->writer() != nullptr; });
  while (!marks_.empty() && source != sources_.end()) {
    RETURN_IF_ERROR(
        (*source)->writer()->WriteIncomplete(marks_.front(), clock_()));
    ++counts_.incomplete_marks;
    marks_.pop_front();
  }
  return absl::OkStatus();
}

void Pipeline::CountSources() {
  counts_.tail = {};
  counts_.malformed_records = 0;
  counts_.gap_records = 0;
  bool is_caught_up = true;
  for (const auto& source : sources_) {
    counts_.tail += source->tail().counts();
    counts_.malformed_records += source->malformed_records();
    counts_.gap_records += source->gap_records();
    counts_.tail.missing_records += source->missing_before();
    is_caught_up &= source->is_caught_up();
  }
  if (is_caught_up) counts_.spool_lag_bytes = 0;
  counts_.spools = sources_.size();
}

void Pipeline::UpdateMetrics() {
  CountSources();
  counts_.join = joiner_.counts();
  counts_.foreign_feedback = incomplete_.foreign_feedback();
  counts_.unknown_feedback = incomplete_.unknown_feedback();
  counts_.pending = joiner_.num_pending();
  counts_.watermark_us = joiner_.watermark_us();
  if (keeper_ != nullptr) counts_.keeper = keeper_->counts();
  metrics_.Update(counts_);
  const bool is_found = std::any_of(
      sources_.begin(), sources_.end(),
      [](const auto& source) { return source->tail().current_segment() > 0; });
  spool_wait_.Update(is_found, clock_());
  if (status_source_ == nullptr) return;
  status::v1::Sidecar figures = StatusFigures(counts_, options_.tuples());
  figures.set_problem(problem_.empty() ? spool_wait_.problem() : problem_);
  status_source_->Update(figures, clock_(), SteadyUs());
}

absl::Status Pipeline::Close() {
  UpdateMetrics();
  for (const auto& source : sources_) {
    if (source->writer() != nullptr) RETURN_IF_ERROR(source->writer()->Close());
  }
  return absl::OkStatus();
}

}  // namespace sortition
