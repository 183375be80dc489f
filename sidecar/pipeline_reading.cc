// How a pipeline merges its spools: by log time, so that a restart merges what
// is left of them in the same order.
#include <algorithm>
#include <limits>
#include <tuple>
#include <variant>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/segments/segment.h"
#include "io/spool/find_spools.h"
#include "process/log.h"
#include "sidecar/pipeline.h"

namespace sortition {

absl::Status Pipeline::AddSource(const std::string& dir) {
  const uint32_t number = static_cast<uint32_t>(sources_.size());
  ASSIGN_OR_RETURN(
      std::unique_ptr<SpoolSource> source,
      SpoolSource::Open(options_, dir, number, has_several_, &joiner_));
  RETURN_IF_ERROR(NoteWriter(*source));
  sources_.push_back(std::move(source));
  return absl::OkStatus();
}

// Names of segments tell spools from each other.
absl::Status Pipeline::NoteWriter(const SpoolSource& source) {
  const std::string& id = source.writer_id();
  if (id.empty()) return absl::OkStatus();
  for (const auto& other : sources_) {
    if (other.get() == &source || other->writer_id() != id) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "spools ", other->dir(), " and ", source.dir(), " are both of writer '",
        id, "'; must have servers with different spool.writer_id"));
  }
  incomplete_.AddWriter(id);
  return absl::OkStatus();
}

absl::Status Pipeline::FindSources() {
  for (const std::string& spool : options_.spool()) {
    if (!IsSpoolPattern(spool)) continue;
    ASSIGN_OR_RETURN(const std::vector<std::string> dirs, FindSpools(spool));
    for (const std::string& dir : dirs) {
      const bool is_known =
          std::any_of(sources_.begin(), sources_.end(),
                      [&](const auto& other) { return other->dir() == dir; });
      if (is_known) continue;
      RETURN_IF_ERROR(AddSource(dir));
      LogInfo("reading another spool", {{"spool", dir}});
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Pipeline::ReadSources() {
  bool has_progress = false;
  for (const auto& source : sources_) {
    if (source->has_record()) continue;
    const bool had_writer = source->writer() != nullptr;
    ASSIGN_OR_RETURN(const SpoolSource::Outcome outcome,
                     source->Read(latest_us_));
    has_progress |= outcome == SpoolSource::Outcome::kProgress;
    if (!had_writer && source->writer() != nullptr) {
      RETURN_IF_ERROR(NoteWriter(*source));
    }
    if (source->begins_in_the_middle()) incomplete_.BeginInTheMiddle();
    if (!has_several_ && outcome == SpoolSource::Outcome::kProgress) {
      incomplete_.AddWriter(source->tail().header().writer_id());
    }
  }
  return has_progress;
}

absl::StatusOr<bool> Pipeline::LookAround() {
  const int64_t now_us = clock_();
  latest_us_ = now_us + Micros(options_.join().max_lead_seconds());
  joiner_.SetLatestTime(latest_us_);
  if (steady_clock_ != nullptr) {
    const auto step = clock_steps_.Look(now_us, steady_clock_());
    if (step.has_value()) {
      joiner_.Censor(log::v1::CLOCK_STEP, step->first_us, step->last_us);
    }
  }
  RETURN_IF_ERROR(FindSources());
  found_until_us_ = now_us;
  bool has_progress = false;
  for (const auto& source : sources_) {
    if (source->has_record()) continue;
    ASSIGN_OR_RETURN(const SpoolSource::Outcome outcome,
                     source->Look(now_us, latest_us_));
    has_progress |= outcome == SpoolSource::Outcome::kProgress;
  }
  return has_progress;
}

// The record with the smallest key, if no spool that has none, and none that
// was not found yet, can still come to have one with a smaller key. A record
// reaches its spool up to a slack after its time.
SpoolSource* Pipeline::NextInTurn() const {
  SpoolSource* first = nullptr;
  for (const auto& source : sources_) {
    if (!source->has_record()) continue;
    if (first == nullptr ||
        std::forward_as_tuple(source->record_key_us(), source->writer_id()) <
            std::forward_as_tuple(first->record_key_us(), first->writer_id())) {
      first = source.get();
    }
  }
  if (first == nullptr) return nullptr;
  const int64_t certain_from_us = first->record_key_us() + slack_us_;
  if (has_pattern_ && found_until_us_ <= certain_from_us) return nullptr;
  const bool is_certain =
      std::all_of(sources_.begin(), sources_.end(), [&](const auto& source) {
        return source->has_record() || source->frontier_us() > certain_from_us;
      });
  return is_certain ? first : nullptr;
}

// Returns the time up to which all records have been given to the joiner.
int64_t Pipeline::ReadUntil() const {
  int64_t until_us =
      has_pattern_ ? found_until_us_ : std::numeric_limits<int64_t>::max();
  for (const auto& source : sources_) {
    until_us = std::min(until_us, source->has_record() ? source->record_key_us()
                                                       : source->frontier_us());
  }
  return until_us;
}

absl::StatusOr<bool> Pipeline::ReadStep() {
  latest_us_ = clock_() + Micros(options_.join().max_lead_seconds());
  joiner_.SetLatestTime(latest_us_);
  ASSIGN_OR_RETURN(bool has_progress, ReadSources());
  if (has_progress) return true;
  SpoolSource* next = NextInTurn();
  if (next == nullptr) {
    ASSIGN_OR_RETURN(has_progress, LookAround());
    if (has_progress) return true;
    next = NextInTurn();
  }
  if (next != nullptr) {
    TakeRecord(next);
    return true;
  }
  joiner_.AdvanceTo(ReadUntil());
  late_ = joiner_.PopLate();
  if (!late_.has_value()) closed_ = PopClosed();
  return late_.has_value() || closed_.has_value();
}

// Gives the record to the joiner. An earlier process has passed a copy of a
// decision only after the outcome of the first copy was on the disk. If another
// copy comes first now, because its record reached its spool late, there is
// nothing left to write.
void Pipeline::TakeRecord(SpoolSource* source) {
  const SpoolPlace place = source->record().place;
  if (std::holds_alternative<log::v1::Feedback>(source->record().content)) {
    incomplete_.TakeFeedback(source->record().time_us);
  }
  const std::optional<RepeatedDecision> first = source->TakeRecord();
  if (!first.has_value() || first->place.spool == place.spool) return;
  if (source->writer()->HasPassed(source->PositionOf(place))) {
    joiner_.LeaveToOther(*first);
  }
}

// After a restart, what has no output yet waits until all has been read again
// that has been passed: a copy of it may be there.
std::optional<ClosedDecision> Pipeline::PopClosed() {
  const bool is_replayed =
      std::all_of(sources_.begin(), sources_.end(),
                  [](const auto& source) { return source->is_replayed(); });
  const std::optional<SpoolPlace> next = joiner_.NextPlace();
  if (!is_replayed && next.has_value()) {
    const SpoolSource& source = SourceOf(*next);
    const bool is_new = !source.writer()->HasPassed(source.PositionOf(*next));
    if (is_new) return std::nullopt;
  }
  return joiner_.PopClosed();
}

void Pipeline::Wait(double seconds) {
  std::vector<const SpoolTail*> tails;
  for (const auto& source : sources_) tails.push_back(&source->tail());
  SpoolTail::Wait(tails, seconds);
}

}  // namespace sortition
