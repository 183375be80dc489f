#include "client/validation/log_wide_checks.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <tuple>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace sortition {
namespace {

// A larger share of censored tuples is a warning.
constexpr double kMostCensored = 0.1;

std::string Percent(uint64_t part, uint64_t all) {
  return absl::StrFormat("%.4g %%",
                         100.0 * static_cast<double>(part) /
                             static_cast<double>(std::max<uint64_t>(1, all)));
}

std::string DirectoryOf(absl::string_view file) {
  return std::filesystem::path(std::string(file)).parent_path().string();
}

std::string SampleText(const IdSample& ids) {
  if (ids.share() == 1) return "";
  return absl::StrFormat(", looked for among %.4g %% of the ids",
                         100 * ids.share());
}

}  // namespace

void FeedbackCheck::Take(const LogEntry& entry) {
  if (entry.tuple == nullptr) return;
  ++tuples_;
  const log::v1::BanditTuple& tuple = *entry.tuple;
  if (tuple.has_feedback()) ++with_feedback_;
  if (tuple.censored_size() > 0) {
    ++censored_;
    for (const int reason : tuple.censored()) {
      ++reasons_[absl::AsciiStrToLower(log::v1::CensorReason_Name(
          static_cast<log::v1::CensorReason>(reason)))];
    }
  } else if (!tuple.has_feedback()) {
    ++default_reward_;
  }
  if (!std::isfinite(tuple.reward())) {
    bad_.Add(entry, absl::StrCat("reward is ", tuple.reward()));
  }
}

std::vector<Finding> FeedbackCheck::Report() const {
  if (tuples_ == 0) return {{Level::kPass, "no tuples"}};
  std::string text =
      absl::StrCat(Percent(with_feedback_, tuples_), " of ", tuples_,
                   " tuples have feedback, ", Percent(default_reward_, tuples_),
                   " the default reward");
  if (censored_ > 0) {
    absl::StrAppend(&text, ", ", Percent(censored_, tuples_), " are censored (",
                    absl::StrJoin(reasons_, ", ", absl::PairFormatter(" ")),
                    ")");
  }
  const bool is_odd =
      with_feedback_ == 0 || static_cast<double>(censored_) >
                                 kMostCensored * static_cast<double>(tuples_);
  std::vector<Finding> findings = {
      {is_odd ? Level::kWarn : Level::kPass, text}};
  if (bad_.count() > 0) {
    findings.push_back({Level::kFail, bad_.Text(tuples_, "tuples")});
  }
  return findings;
}

DecisionIdCheck::DecisionIdCheck(size_t memory_bytes) : ids_(memory_bytes) {}

void DecisionIdCheck::Take(const LogEntry& entry) {
  if (entry.decision == nullptr) return;
  ++decisions_;
  const bool is_tuple = entry.tuple != nullptr;
  if (ids_.Insert(
          absl::StrCat(is_tuple ? "t" : "d", entry.decision->decision_id()))) {
    (is_tuple ? tuples_ : spool_).Add(entry, "this id came before");
  }
}

std::vector<Finding> DecisionIdCheck::Report() const {
  std::vector<Finding> findings;
  if (tuples_.count() > 0) {
    findings.push_back({Level::kFail, tuples_.Text(decisions_, "decisions") +
                                          SampleText(ids_)});
  }
  if (spool_.count() > 0) {
    findings.push_back(
        {Level::kWarn,
         absl::StrCat(spool_.Text(decisions_, "decisions"), SampleText(ids_),
                      "; the join drops repetitions")});
  }
  if (findings.empty()) {
    findings.push_back(
        {Level::kPass, absl::StrCat("no decision id twice among ", decisions_,
                                    SampleText(ids_))});
  }
  return findings;
}

void FeedbackIdCheck::Look(const LogEntry& entry, const std::string& kind,
                           const log::v1::Feedback& feedback,
                           Offences* offences) {
  ++feedback_;
  if (feedback.feedback_id().empty()) return;
  if (ids_.Insert(kind + feedback.feedback_id())) {
    offences->Add(entry, absl::StrCat("feedback id ", feedback.feedback_id(),
                                      " came before"));
  }
}

void FeedbackIdCheck::Take(const LogEntry& entry) {
  if (entry.record == nullptr) return;
  if (entry.record->has_feedback()) {
    Look(entry, "f", entry.record->feedback(), &spool_);
  }
  if (entry.tuple == nullptr) return;
  for (const log::v1::Feedback& feedback : entry.tuple->feedback()) {
    Look(entry, "t", feedback, &tuples_);
  }
}

std::vector<Finding> FeedbackIdCheck::Report() const {
  std::vector<Finding> findings;
  if (tuples_.count() > 0) {
    findings.push_back(
        {Level::kFail, tuples_.Text(feedback_, "feedback") + SampleText(ids_)});
  }
  if (spool_.count() > 0) {
    findings.push_back(
        {Level::kWarn,
         absl::StrCat(spool_.Text(feedback_, "feedback"), SampleText(ids_),
                      "; the join drops repetitions")});
  }
  if (findings.empty()) {
    findings.push_back(
        {Level::kPass, absl::StrCat("no feedback id twice among ", feedback_,
                                    SampleText(ids_))});
  }
  return findings;
}

void JoinCheck::Take(const LogEntry& entry) {
  if (entry.tuple == nullptr) return;
  uint64_t* const count =
      tuples_.Get(std::string(entry.join), entry.join.size(), uint64_t{0});
  if (count != nullptr) ++*count;
}

std::vector<Finding> JoinCheck::Report() const {
  constexpr size_t kMostNamed = 10;
  std::string text;
  size_t named = 0;
  for (const auto& [join, count] : tuples_.entries()) {
    if (++named > kMostNamed) break;
    absl::StrAppend(&text, text.empty() ? "" : "; ", count, " tuples ",
                    join.empty() ? "that no sidecar joined"
                                 : absl::StrCat("joined by ", join));
  }
  const size_t joins = tuples_.entries().size();
  if (joins > kMostNamed) {
    absl::StrAppend(&text, "; ", joins - kMostNamed, " other joins");
  }
  if (joins <= 1) return {{Level::kPass, text.empty() ? "no tuples" : text}};
  std::vector<Finding> findings = {
      {Level::kWarn, text + "; rewards do not mean the same"}};
  tuples_.AppendLeftOut("tuples", "joins", &findings);
  return findings;
}

void CompletenessCheck::Take(const LogEntry& entry) {
  if (entry.record == nullptr) return;
  ++records_;
  if (entry.record->has_incomplete()) {
    const log::v1::Incomplete& incomplete = entry.record->incomplete();
    incomplete_.Add(
        entry, absl::StrCat(incomplete.foreign_feedback(),
                            " feedback for decisions of other writers, ",
                            incomplete.unknown_feedback(),
                            " for other unknown ones, of ",
                            incomplete.feedback(), ": ", incomplete.reason()));
  } else if (entry.record->has_gap()) {
    const log::v1::Gap& gap = entry.record->gap();
    gaps_.Add(entry, absl::StrCat(gap.lost_records(), " records lost, ",
                                  gap.refused_calls(),
                                  " calls refused: ", gap.reason()));
  }
}

std::vector<Finding> CompletenessCheck::Report() const {
  std::vector<Finding> findings;
  if (incomplete_.count() > 0) {
    findings.push_back({Level::kFail, incomplete_.Text(records_, "records")});
  }
  if (gaps_.count() > 0) {
    findings.push_back({Level::kWarn, gaps_.Text(records_, "records")});
  }
  if (findings.empty()) {
    findings.push_back({Level::kPass, "nothing says that records are missing"});
  }
  return findings;
}

void DamageCheck::Take(const LogEntry& entry) {
  if (entry.damaged_bytes > 0) {
    ++damaged_places_;
    damaged_.Add(entry, absl::StrCat(entry.damaged_bytes, " damaged bytes"));
  }
  if (entry.record != nullptr && !entry.record->has_footer()) {
    ++records_in_segment_;
  }
  if (entry.end == nullptr) return;
  ++segments_;
  if (entry.end->torn_bytes > 0 && !entry.end->live) {
    torn_.Add(entry, absl::StrCat(entry.end->torn_bytes,
                                  " bytes that are no whole record"));
  }
  const log::v1::SegmentHeader& header = *entry.header;
  const std::string writer =
      absl::StrCat(DirectoryOf(entry.file), "\n", header.writer_id(), "\n",
                   header.incarnation());
  uint64_t* const next = next_sequence_.Get(writer, writer.size(), uint64_t{0});
  if (next != nullptr) {
    if (*next > 0 && header.first_sequence() > *next) {
      missing_records_ += header.first_sequence() - *next;
    }
    *next = header.first_sequence() + records_in_segment_;
  }
  records_in_segment_ = 0;
}

std::vector<Finding> DamageCheck::Report() const {
  std::vector<Finding> findings;
  if (damaged_.count() > 0) {
    findings.push_back(
        {Level::kFail, damaged_.Text(damaged_places_, "damaged places")});
  }
  if (torn_.count() > 0) {
    findings.push_back({Level::kWarn, torn_.Text(segments_, "segments")});
  }
  if (missing_records_ > 0) {
    findings.push_back(
        {Level::kWarn, absl::StrCat(missing_records_,
                                    " records are missing between segments")});
  }
  next_sequence_.AppendLeftOut("segments", "writers", &findings);
  if (findings.empty()) {
    findings.push_back(
        {Level::kPass, absl::StrCat(segments_, " segments are whole")});
  }
  return findings;
}

ClockCheck::ClockCheck(double max_step_back_seconds)
    : bound_us_(static_cast<int64_t>(1e6 * max_step_back_seconds)) {}

// Tuples need not be in the order of their decisions: one step back is a later
// place with an earlier time.
void ClockCheck::TakeTime(const LogEntry& entry, int64_t time_us) {
  if (entry.decision != nullptr) {
    ++decisions_;
    if (time_us == 0) return without_time_.Add(entry, "it has none");
  }
  ++records_;
  oldest_us_ = oldest_us_ == 0 ? time_us : std::min(oldest_us_, time_us);
  newest_us_ = std::max(newest_us_, time_us);
  const log::v1::BanditTuple* tuple = entry.tuple;
  // Nothing is known of the order of tuples that no sidecar wrote.
  if (tuple != nullptr && !tuple->has_position()) {
    ++without_order_;
    return;
  }
  Writer* const known = WriterOf(entry);
  if (known == nullptr) return;
  Writer& writer = *known;
  const std::string segment =
      tuple == nullptr ? std::string(entry.file) : tuple->position().segment();
  const uint64_t offset =
      tuple == nullptr ? entry.offset : tuple->position().offset();
  if (tuple != nullptr) {
    writer.knows_steps =
        std::find(tuple->censored().begin(), tuple->censored().end(),
                  log::v1::CLOCK_STEP) != tuple->censored().end();
  }
  const bool goes_on =
      std::tie(writer.segment, writer.offset) < std::tie(segment, offset);
  if (goes_on && time_us < writer.time_us - bound_us_) {
    (writer.knows_steps ? told_ : back_)
        .Add(entry, absl::StrFormat(
                        "time is %.6f s before that of the record before",
                        1e-6 * static_cast<double>(writer.time_us - time_us)));
  }
  writer.segment = segment;
  writer.offset = offset;
  writer.time_us = time_us;
}

ClockCheck::Writer* ClockCheck::WriterOf(const LogEntry& entry) {
  const std::string name = absl::StrCat(
      DirectoryOf(entry.file), "\n", entry.header->writer_id(), "\n",
      entry.tuple == nullptr ? "" : entry.tuple->spool_writer());
  return writers_.Get(name, name.size());
}

// A server writes a record when it stamps it, a sidecar some time later.
void ClockCheck::EndSegment(const LogEntry& entry) {
  const auto seconds = [](int64_t from, int64_t to) {
    return 1e-6 * static_cast<double>(to - from);
  };
  const int64_t created_us = entry.header->created_time_us();
  if (closed_us_ > 0 && newest_us_ > closed_us_ + bound_us_) {
    outside_.Add(entry, absl::StrFormat("a record is stamped %.6f s after the "
                                        "segment was closed",
                                        seconds(closed_us_, newest_us_)));
  } else if (entry.header->kind() == log::v1::SegmentHeader::SPOOL &&
             oldest_us_ > 0 && oldest_us_ < created_us - bound_us_) {
    outside_.Add(entry, absl::StrFormat("a record is stamped %.6f s before the "
                                        "segment was begun",
                                        seconds(oldest_us_, created_us)));
  }
  oldest_us_ = newest_us_ = closed_us_ = 0;
}

void ClockCheck::Take(const LogEntry& entry) {
  if (entry.end != nullptr) {
    ++segments_;
    EndSegment(entry);
  }
  if (entry.record == nullptr) return;
  const log::v1::LogRecord& record = *entry.record;
  if (record.has_footer()) closed_us_ = record.footer().closed_time_us();
  if (record.has_gap() && record.gap().kind() == log::v1::CLOCK_STEP) {
    Writer* const writer = WriterOf(entry);
    if (writer != nullptr) writer->knows_steps = true;
  }
  if (entry.decision != nullptr) TakeTime(entry, entry.decision->time_us());
  if (record.has_shown()) TakeTime(entry, record.shown().time_us());
  if (record.has_feedback()) TakeTime(entry, record.feedback().time_us());
}

std::vector<Finding> ClockCheck::Report() const {
  std::vector<Finding> findings;
  if (back_.count() > 0) {
    findings.push_back({Level::kFail, back_.Text(records_, "records")});
  }
  if (told_.count() > 0) {
    findings.push_back(
        {Level::kWarn, absl::StrCat(told_.Text(records_, "records"),
                                    "; the log says that the clock was set")});
  }
  if (outside_.count() > 0) {
    findings.push_back({Level::kWarn, outside_.Text(segments_, "segments")});
  }
  writers_.AppendLeftOut("records", "writers", &findings);
  // A log without any times, as of a conversion, is no mistake.
  if (without_time_.count() > 0 && without_time_.count() < decisions_) {
    findings.push_back(
        {Level::kWarn,
         absl::StrCat("time is missing in ",
                      without_time_.Text(decisions_, "decisions"),
                      "; reward files with a horizon leave them out")});
  }
  if (findings.empty()) {
    findings.push_back({Level::kPass, OrderText()});
  }
  return findings;
}

std::string ClockCheck::OrderText() const {
  const uint64_t ordered = records_ - without_order_;
  std::vector<std::string> texts;
  if (without_time_.count() > 0) {
    texts.push_back(absl::StrCat("none of ", decisions_,
                                 " decisions has a time; reward files with a "
                                 "horizon leave them out"));
  }
  if (without_order_ > 0) {
    texts.push_back(absl::StrCat(without_order_,
                                 " tuples were not written by a sidecar, so "
                                 "that their order is unknown"));
  }
  if (ordered > 0 || texts.empty()) {
    texts.push_back(
        absl::StrCat("the times of ", ordered, " records are in their order"));
  }
  return absl::StrJoin(texts, "; ");
}

}  // namespace sortition
