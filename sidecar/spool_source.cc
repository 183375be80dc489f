#include "sidecar/spool_source.h"

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
#include "io/clocks.h"
#include "io/segments/erased_record.h"
#include "io/segments/parse_message.h"
#include "io/segments/segment.h"
#include "io/segments/segment_writer.h"
#include "process/log.h"
#include "sidecar/spools/spool_progress.h"

namespace sortition {
namespace {

std::optional<int64_t> RerouteUs(const config::v1::SidecarOptions& options,
                                 bool is_one_of_several) {
  if (!is_one_of_several) return std::nullopt;
  return Micros(options.join().reroute_seconds());
}

}  // namespace

SpoolSource::SpoolSource(const config::v1::SidecarOptions& options,
                         std::string dir, uint32_t number,
                         bool is_one_of_several, Joiner* joiner)
    : options_(options),
      dir_(std::move(dir)),
      number_(number),
      is_one_of_several_(is_one_of_several),
      joiner_(joiner),
      tail_(dir_, options.inotify()),
      losses_(options, number, RerouteUs(options, is_one_of_several), joiner) {}

absl::StatusOr<std::unique_ptr<SpoolSource>> SpoolSource::Open(
    const config::v1::SidecarOptions& options, const std::string& dir,
    uint32_t number, bool is_one_of_several, Joiner* joiner) {
  std::unique_ptr<SpoolSource> source(
      new SpoolSource(options, dir, number, is_one_of_several, joiner));
  if (options.delete_spool()) {
    ASSIGN_OR_RETURN(source->lock_, DirectoryLock::Take(dir));
  } else {
    // Nothing is removed: ids that are forgotten can be read again.
    joiner->AllowForgettingBefore(std::numeric_limits<uint32_t>::max(), number);
  }
  RETURN_IF_ERROR(source->OpenWriter());
  return source;
}

// The output of one of several spools has its writer's name, which the first
// segment tells.
absl::Status SpoolSource::OpenWriter() {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListSegments(dir_));
  if (names.empty() && is_one_of_several_) return absl::OkStatus();
  OutputSpool spool;
  spool.is_one_of_several = is_one_of_several_;
  if (!names.empty()) spool.oldest_segment = names.front();
  for (const std::string& name : names) {
    spool.writer_ids.emplace(WriterIdOf(name));
  }
  if (is_one_of_several_ && spool.writer_ids.size() > 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        "spool ", dir_, " has segments of writer '", *spool.writer_ids.begin(),
        "' and of '", *spool.writer_ids.rbegin(),
        "'; must be of one writer if several spools are read"));
  }
  if (is_one_of_several_) writer_id_ = *spool.writer_ids.begin();
  ASSIGN_OR_RETURN(writer_, TupleWriter::Open(options_, spool));
  return absl::OkStatus();
}

absl::StatusOr<SpoolSource::Outcome> SpoolSource::Look(int64_t now_us,
                                                       int64_t latest_us) {
  ASSIGN_OR_RETURN(const WriterState state, ReadWriterState(dir_));
  // A line that was being written all the time says nothing new.
  if (state.alive_us != 0) writer_state_ = state;
  const int64_t until_us = losses_.TakeState(writer_state_, now_us);
  ASSIGN_OR_RETURN(const Outcome outcome, Read(latest_us));
  // A record that this second look missed has a later time than the first.
  if (outcome == Outcome::kCaughtUp) {
    frontier_us_ = until_us;
    losses_.TakeEnd(until_us);
  }
  return outcome;
}

absl::StatusOr<SpoolSource::Outcome> SpoolSource::Read(int64_t latest_us) {
  if (record_.has_value()) return Outcome::kRecord;
  ASSIGN_OR_RETURN(const SpoolTail::Outcome outcome, tail_.Next());
  is_caught_up_ = outcome == SpoolTail::Outcome::kCaughtUp;
  is_replayed_ |= is_caught_up_;
  if (tail_.current_segment() > last_ordinal_) {
    last_ordinal_ = tail_.current_segment();
    segments_.push_back({last_ordinal_, 0, 0, false});
    // Its name tells the writer, even if its header is damaged.
    if (writer_ == nullptr) RETURN_IF_ERROR(OpenWriter());
  }
  switch (outcome) {
    case SpoolTail::Outcome::kRecord:
      return TakePayload(tail_.record(), latest_us);
    case SpoolTail::Outcome::kDamage:
      losses_.TakeDamage();
      return Outcome::kProgress;
    case SpoolTail::Outcome::kSegmentBegun:
      RETURN_IF_ERROR(BeginSegment());
      return Outcome::kProgress;
    case SpoolTail::Outcome::kSegmentDone:
      segments_.back().is_done = true;
      return Outcome::kProgress;
    case SpoolTail::Outcome::kCaughtUp:
      return Outcome::kCaughtUp;
    case SpoolTail::Outcome::kWaiting:
      break;
  }
  return Outcome::kWaiting;
}

absl::Status SpoolSource::BeginSegment() {
  const std::string& writer_id = tail_.header().writer_id();
  if (is_one_of_several_ && writer_id != writer_id_) {
    return absl::FailedPreconditionError(absl::StrCat(
        "spool ", dir_, " has a segment of writer '", writer_id,
        "'; must be of '", writer_id_, "' as long as several spools are read"));
  }
  bool is_after_missing = tail_.is_after_missing();
  if (tail_.current_segment() == 1) {
    BeginSpool();
    is_after_missing = missing_before_ > 0;
  }
  losses_.TakeSegment(tail_.header(), is_after_missing);
  for (const log::v1::Gap& gap : tail_.header().gaps_before()) {
    NoteLastTime(gap.last_time_us());
  }
  return absl::OkStatus();
}

void SpoolSource::BeginSpool() {
  const log::v1::SegmentHeader& header = tail_.header();
  const std::string& name = tail_.segment(1).name;
  if (!writer_->progress().has_value() ||
      !IsOfWriter(*writer_->progress(), WriterIdOf(name))) {
    writer_->SetProgress(ProgressBefore(name, header));
    begins_in_the_middle_ = header.first_sequence() > 0;
    return;
  }
  const log::v1::SpoolProgress& progress = *writer_->progress();
  const std::optional<MissingRecords> missing =
      FindMissingRecords(progress, name, header);
  if (!missing.has_value()) return;
  missing_before_ = missing->count;
  losses_.TakeTime(progress.last_time_us());
  LogError(
      "records were removed from the spool before they were joined; restore "
      "the segments before this one, if there is a copy, with the sidecar "
      "stopped. Without them the decisions there have no tuples, and tuples "
      "near them are censored (MISSING)",
      {{"file", tail_.PathOf(name)},
       {"done_before", progress.next_segment().empty()
                           ? progress.done_segment()
                           : progress.next_segment()},
       {"count", missing->count},
       {"is_exact", missing->is_exact}});
}

// The segment stays until nothing that it says concerns an open window.
void SpoolSource::NoteLastTime(int64_t time_us) {
  int64_t& last_us = segments_.back().last_time_us;
  last_us = std::max(last_us, time_us);
}

SpoolSource::Outcome SpoolSource::TakePayload(const SpoolTail::Record& record,
                                              int64_t latest_us) {
  const absl::StatusOr<RecordView> view = ViewRecord(record.payload);
  if (view.ok() && view->kind == log::v1::LogRecord::kGap) {
    log::v1::Gap gap;
    if (ParseMessage(view->bytes, &gap)) {
      TakeGap(gap);
      return Outcome::kProgress;
    }
  }
  // An erased record says nothing, and it is not damage.
  if (view.ok() && view->kind == kErasedField) return Outcome::kProgress;
  if (view.ok() && ParseRecord(record, *view)) {
    record_->time_us = std::min(record_->time_us, latest_us);
    if (!is_replayed_) {
      is_replayed_ = !writer_->HasPassed(PositionOf(record_->place));
    }
    return Outcome::kRecord;
  }
  record_.reset();
  // A view is not what feedback may be missing for.
  const bool is_view =
      view.ok() && view->kind == log::v1::LogRecord::kShadowView;
  if (!is_view) losses_.TakeDamage();
  ++malformed_records_;
  LogError("skipped a malformed record",
           {{"file", tail_.PathOf(tail_.segment(record.place.segment).name)},
            {"offset", record.place.offset}});
  return Outcome::kProgress;
}

void SpoolSource::TakeGap(const log::v1::Gap& gap) {
  losses_.TakeGap(gap);
  NoteLastTime(gap.last_time_us());
  gap_records_ += gap.lost_records();
}

// Stores what the joiner needs; returns false if the record is malformed.
bool SpoolSource::ParseRecord(const SpoolTail::Record& record,
                              const RecordView& view) {
  record_.emplace().place = record.place;
  record_->place.spool = number_;
  if (view.kind == log::v1::LogRecord::kDecision) {
    return ParseDecision(view.bytes);
  }
  if (view.kind == log::v1::LogRecord::kShown) {
    auto& shown = record_->content.emplace<log::v1::Shown>();
    if (!ParseMessage(view.bytes, &shown)) return false;
    record_->time_us = shown.time_us();
    return true;
  }
  if (view.kind == log::v1::LogRecord::kShadowView) {
    return ParseView(view.bytes);
  }
  if (view.kind != log::v1::LogRecord::kFeedback) return false;
  auto& feedback = record_->content.emplace<log::v1::Feedback>();
  if (!ParseMessage(view.bytes, &feedback) ||
      !std::isfinite(feedback.reward())) {
    return false;
  }
  record_->time_us = feedback.time_us();
  return true;
}

bool SpoolSource::ParseDecision(absl::string_view bytes) {
  const absl::StatusOr<DecisionWire> decision = ViewDecision(bytes);
  if (!decision.ok()) return false;
  const absl::StatusOr<DecidedAction> action = ViewAction(bytes);
  if (!action.ok()) return false;
  DecisionFacts facts = {.answer = HashAnswer(*decision, action->trace_field),
                         .num_candidates = action->num_candidates,
                         .is_empty = action->is_empty};
  const double probability = options_.join().keep_probability();
  if (probability < 1) {
    const absl::StatusOr<absl::string_view> unit = ViewUnit(bytes);
    if (!unit.ok()) return false;
    facts.is_kept = KeepNumber(*unit, decision->id) < probability;
  }
  record_->time_us = decision->time_us;
  record_->content = SmallDecision{decision->id, decision->time_us, facts};
  return true;
}

bool SpoolSource::ParseView(absl::string_view bytes) {
  const absl::StatusOr<ShadowViewWire> view = ViewShadowView(bytes);
  if (!view.ok()) return false;
  record_->time_us = view->time_us;
  record_->content = SmallView{view->decision_id, view->time_us, view->version};
  return true;
}

int64_t SpoolSource::record_key_us() const {
  return std::max(
      {removed_until_us_, losses_.last_time_us(), record_->time_us});
}

std::optional<RepeatedDecision> SpoolSource::TakeRecord() {
  SourceRecord record = *std::move(record_);
  record_.reset();
  losses_.TakeTime(record.time_us);
  Segment& segment = segments_.back();
  if (segment.first_time_us == 0) segment.first_time_us = record.time_us;
  NoteLastTime(record.time_us);
  if (const auto* shown = std::get_if<log::v1::Shown>(&record.content)) {
    joiner_->AddShown(record.place, *shown);
    return std::nullopt;
  }
  if (const auto* feedback = std::get_if<log::v1::Feedback>(&record.content)) {
    joiner_->AddFeedback(record.place, *feedback);
    return std::nullopt;
  }
  if (const auto* view = std::get_if<SmallView>(&record.content)) {
    joiner_->AddView(record.place, view->decision_id, view->time_us,
                     view->version);
    return std::nullopt;
  }
  const auto& decision = std::get<SmallDecision>(record.content);
  return joiner_->AddDecision(record.place, decision.id, decision.time_us,
                              decision.facts);
}

log::v1::SpoolPosition SpoolSource::PositionOf(SpoolPlace place) const {
  log::v1::SpoolPosition position;
  position.set_segment(tail_.segment(place.segment).name);
  position.set_offset(place.offset);
  return position;
}

absl::StatusOr<absl::string_view> SpoolSource::ReadDecision(SpoolPlace place) {
  return decisions_.Read(tail_.PathOf(tail_.segment(place.segment).name),
                         place.offset);
}

absl::StatusOr<absl::string_view> SpoolSource::ReadView(SpoolPlace place) {
  return views_.Read(tail_.PathOf(tail_.segment(place.segment).name),
                     place.offset);
}

// The newest segment stays: its name tells the writer what later names must
// sort after. The writer of one of several spools may be gone for good, and
// then it is in the file of its lock.
bool SpoolSource::IsOldestDone() const {
  const Segment& oldest = segments_.front();
  if (!oldest.is_done) return false;
  const bool is_newest = oldest.ordinal == tail_.current_segment() &&
                         tail_.later_segments().empty();
  if (!is_newest) return true;
  return is_one_of_several_ && losses_.is_away() &&
         writer_state_.newest_segment_us >= CreatedTimeOf(OldestName());
}

std::string SpoolSource::OldestName() const {
  return tail_.segment(segments_.front().ordinal).name;
}

log::v1::SpoolProgress SpoolSource::ProgressAfterOldest() const {
  const uint32_t ordinal = segments_.front().ordinal;
  const SpoolTail::Segment& done = tail_.segment(ordinal);
  log::v1::SpoolProgress progress;
  progress.set_done_segment(done.name);
  progress.set_incarnation(done.incarnation);
  progress.set_next_sequence(done.end_sequence);
  progress.set_must_go_on(done.must_go_on);
  progress.set_last_time_us(segments_.front().last_time_us);
  // A clock may have been set back.
  if (writer_->progress().has_value()) {
    progress.set_last_time_us(
        std::max(progress.last_time_us(), writer_->progress()->last_time_us()));
  }
  if (ordinal < tail_.current_segment()) {
    progress.set_next_segment(tail_.segment(ordinal + 1).name);
  } else if (!tail_.later_segments().empty()) {
    progress.set_next_segment(tail_.later_segments().front());
  }
  return progress;
}

absl::Status SpoolSource::PassOldest() {
  const uint32_t ordinal = segments_.front().ordinal;
  if (options_.delete_spool()) {
    const std::string path = tail_.PathOf(OldestName());
    if (unlink(path.c_str()) != 0 && errno != ENOENT) {
      return absl::UnavailableError(
          absl::StrCat("cannot remove ", path, ": ", std::strerror(errno)));
    }
    joiner_->AllowForgettingBefore(ordinal + 1, number_);
  }
  tail_.DropBefore(ordinal + 1);
  segments_.pop_front();
  return absl::OkStatus();
}

uint64_t SpoolSource::LagBytes() const {
  uint64_t bytes = tail_.RemainingBytes();
  for (const std::string& name : tail_.later_segments()) {
    std::error_code error;
    const uint64_t size = std::filesystem::file_size(tail_.PathOf(name), error);
    if (!error) bytes += size;
  }
  return bytes;
}

}  // namespace sortition
