#include "trainer/tuples/scan/tuple_scan.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <limits>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "io/segments/parse_message.h"
#include "process/command.h"
#include "process/log.h"
#include "process/progress.h"

namespace sortition {
namespace {

constexpr double kBytesPerMib = 1024.0 * 1024.0;

using TakeTuple = std::function<absl::Status(const log::v1::BanditTuple&)>;

uint64_t MibOf(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  return error
             ? 0
             : static_cast<uint64_t>(static_cast<double>(bytes) / kBytesPerMib);
}

// What the marks of an incomplete log say together.
class IncompleteMarks {
 public:
  void Take(const log::v1::Incomplete& mark) {
    if (count_++ == 0) sum_ = mark;
    sum_.set_first_time_us(
        std::min(sum_.first_time_us(), mark.first_time_us()));
    sum_.set_last_time_us(std::max(sum_.last_time_us(), mark.last_time_us()));
    if (count_ == 1) return;
    sum_.set_foreign_feedback(sum_.foreign_feedback() +
                              mark.foreign_feedback());
    sum_.set_unknown_feedback(sum_.unknown_feedback() +
                              mark.unknown_feedback());
    sum_.set_feedback(sum_.feedback() + mark.feedback());
  }

  // Returns the time of the last feedback that the marks are of; 0: no marks.
  int64_t last_time_us() const { return sum_.last_time_us(); }

  absl::Status Check(const TupleLog& log) const {
    if (count_ == 0) return absl::OkStatus();
    const std::string text = absl::StrCat(
        "the log in ", log.name(), " is incomplete: ", sum_.foreign_feedback(),
        " feedback of ", sum_.feedback(),
        " are for decisions of servers whose spools were not read, ",
        sum_.unknown_feedback(), " for unknown ones, from ",
        TimeText(sum_.first_time_us()), " to ", TimeText(sum_.last_time_us()));
    if (log.allows_incomplete()) {
      LogWarning(text);
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(absl::StrCat(
        text,
        "; read the spools of all servers with one sidecar, or send feedback "
        "to the server of its decision (docs/join.md), or use the log all the "
        "same with --allow_incomplete"));
  }

 private:
  static std::string TimeText(int64_t time_us) {
    return absl::FormatTime("%Y-%m-%d %H:%M:%SZ",
                            absl::FromUnixSeconds(time_us / 1000000),
                            absl::UTCTimeZone());
  }

  uint64_t count_ = 0;
  log::v1::Incomplete sum_;
};

constexpr uint64_t kNoEnd = std::numeric_limits<uint64_t>::max();

// Reads up to `end`, and sets it to where it stopped; 0 if the segment is not
// there. Without `progress` it says nothing.
absl::Status ScanSegment(const std::string& path, const TakeTuple& take,
                         Progress* progress, SegmentDamage* damage,
                         IncompleteMarks* marks, uint64_t* end) {
  const uint64_t last = std::exchange(*end, 0);
  const auto opened = SegmentReader::Open(path);
  if (absl::IsNotFound(opened.status())) {
    LogWarning("a segment was removed before it was read", {{"segment", path}});
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(opened.status());
  SegmentReader* const reader = opened->get();
  log::v1::LogRecord record;
  uint64_t reported = 0;
  while (reader->offset() < last) {
    absl::string_view payload;
    uint64_t offset = 0;
    ASSIGN_OR_RETURN(const auto outcome, reader->Next(&payload, &offset));
    if (outcome == SegmentReader::Outcome::kEnd ||
        outcome == SegmentReader::Outcome::kIncomplete) {
      break;
    }
    if (outcome == SegmentReader::Outcome::kCorrupt ||
        !ParseMessage(payload, &record)) {
      ++damage->corrupt_records;
      if (progress != nullptr) {
        LogWarning("a damaged record was passed over",
                   {{"segment", path}, {"offset", offset}});
      }
      continue;
    }
    if (record.has_tuple()) RETURN_IF_ERROR(take(record.tuple()));
    if (record.has_incomplete()) marks->Take(record.incomplete());
    const uint64_t mib =
        static_cast<uint64_t>(static_cast<double>(offset) / kBytesPerMib);
    if (progress != nullptr && mib > reported) {
      progress->Add(mib - reported);
      reported = mib;
    }
  }
  *end = reader->offset();
  return absl::OkStatus();
}

}  // namespace

void TupleCounts::LeaveOut(LeftOutReason reason) {
  ++excluded[ReasonText(reason)];
}

void TupleCounts::LeaveOut(LeftOutReason reason,
                           const log::v1::BanditTuple& tuple,
                           const log::v1::RankReward* rank) {
  // Numbers come from outside: not too many of them get a line of their own.
  constexpr size_t kMostReasons = 50;
  if (reason == LeftOutReason::kOtherFeatures &&
      excluded.size() < kMostReasons) {
    ++excluded[absl::StrCat(ReasonText(reason), ": ",
                            tuple.decision().num_features())];
    return;
  }
  if (reason == LeftOutReason::kCensored) {
    ++excluded[absl::StrCat(
        ReasonText(reason), ": ",
        absl::AsciiStrToLower(log::v1::CensorReason_Name(tuple.censored(0))))];
    return;
  }
  LeaveOut(reason);
  const std::string& model = tuple.decision().model();
  if (reason == LeftOutReason::kOtherModel &&
      (other_models.size() < kMostReasons || other_models.contains(model))) {
    ++other_models[model];
  }
  if (reason != LeftOutReason::kRewardOutside) return;
  RewardCounts& rewards = CountsOf(tuple);
  ++rewards.all;
  if (rewards.outside++ > 0) return;
  const absl::string_view id = tuple.decision().decision_id();
  rewards.first_outside = rank == nullptr
                              ? absl::StrCat("'", id, "' is ", tuple.reward())
                              : absl::StrCat("'", id, "' is ", rank->reward(),
                                             " at rank ", rank->rank());
}

std::string OtherModelsText(const TupleCounts& counts) {
  if (counts.other_models.empty()) return "";
  return absl::StrCat(
      "the log has tuples of ",
      counts.other_models.size() == 1 ? "model " : "the models ",
      absl::StrJoin(
          counts.other_models, ", ", [](std::string* out, const auto& model) {
            absl::StrAppend(out, "'", model.first, "' (", model.second, ")");
          }));
}

absl::Status NoTuplesYet(const std::string& tuples) {
  return NotYetError(absl::StrCat(
      "no tuple in ", tuples,
      " yet: the sidecar writes the tuple of a decision once the time in which "
      "its feedback counts is over (join.reward_wait_time_seconds)"));
}

void TupleCounts::LeaveOutUnread(LeftOutReason reason,
                                 const std::string& detail) {
  ++read_tuples;
  ++excluded[detail.empty() ? ReasonText(reason)
                            : absl::StrCat(ReasonText(reason), ": ", detail)];
}

void TupleCounts::TakeReward(const log::v1::BanditTuple& tuple) {
  ++CountsOf(tuple).all;
}

RewardCounts& TupleCounts::CountsOf(const log::v1::BanditTuple& tuple) {
  return tuple.has_feedback() ? with_feedback : without_feedback;
}

void TupleCounts::TakeOrder(const log::v1::Decision& decision, size_t counted) {
  if (decision.action_kind() != log::v1::RANK) return;
  ++orders;
  logged_ranks += static_cast<uint64_t>(decision.action_size());
  counted_ranks += counted;
}

double TupleCounts::mean_logged_ranks() const {
  return orders == 0
             ? 0
             : static_cast<double>(logged_ranks) / static_cast<double>(orders);
}

double TupleCounts::mean_counted_ranks() const {
  return orders == 0
             ? 0
             : static_cast<double>(counted_ranks) / static_cast<double>(orders);
}

uint64_t TupleCounts::left_out(LeftOutReason reason) const {
  const auto found = excluded.find(ReasonText(reason));
  return found == excluded.end() ? 0 : found->second;
}

uint64_t TupleCounts::excluded_tuples() const {
  uint64_t sum = 0;
  for (const auto& [reason, count] : excluded) sum += count;
  return sum;
}

std::string TupleCounts::DescribeExclusions() const {
  std::string text = absl::StrCat(read_tuples, " tuples read");
  for (const auto& [reason, count] : excluded) {
    absl::StrAppend(&text, ", ", count, " left out: ", reason);
  }
  return text;
}

std::optional<LeftOutReason> CensoredReason(const log::v1::BanditTuple& tuple) {
  if (tuple.censored_size() == 0) return std::nullopt;
  return LeftOutReason::kCensored;
}

void WarnOfCensoring(const TupleCounts& counts) {
  for (const std::string& warning : counts.censored_share.Warnings()) {
    LogWarning(warning);
  }
}

absl::Status ScanTuples(
    const TupleLog& log, const TakeTuple& take, TupleCounts* counts,
    ScanEnds* ends,
    const std::function<void(const TupleLog::Segment&)>& begin_segment) {
  std::vector<uint64_t> offsets;
  uint64_t total_mib = 0;
  for (const TupleLog::Segment& segment : log.segments()) {
    total_mib += MibOf(segment.path);
    offsets.push_back(segment.end);
  }
  if (ends != nullptr && !ends->offsets.empty()) offsets = ends->offsets;
  Progress progress("reading tuples", "MiB", total_mib);
  IncompleteMarks marks;
  for (uint32_t i = 0; i < offsets.size(); ++i) {
    const TupleLog::Segment& segment = log.segments()[i];
    if (begin_segment) begin_segment(segment);
    uint32_t index = 0;
    const auto take_once = [&](const log::v1::BanditTuple& tuple) {
      // Before the next: the same decision may be joined otherwise elsewhere.
      if (!segment.is_read) {
        counts->LeaveOutUnread(LeftOutReason::kOtherJoin, segment.join);
        return absl::OkStatus();
      }
      if (log.copies().Contains(i, index++)) {
        counts->LeaveOutUnread(LeftOutReason::kSeenBefore, "");
        return absl::OkStatus();
      }
      return take(tuple);
    };
    IncompleteMarks unread;
    RETURN_IF_ERROR(
        ScanSegment(segment.path, take_once, &progress, &counts->damage,
                    segment.is_read ? &marks : &unread, &offsets[i]));
  }
  if (ends != nullptr) ends->offsets = std::move(offsets);
  counts->incomplete_until_us = marks.last_time_us();
  return marks.Check(log);
}

absl::StatusOr<bool> HasTuple(
    const TupleLog& log,
    const std::function<bool(const log::v1::BanditTuple&)>& is_wanted) {
  const absl::Status found = absl::CancelledError("found");
  for (const TupleLog::Segment& segment : log.segments()) {
    if (!segment.is_read) continue;
    SegmentDamage ignored;  // It is counted when the segments are scanned.
    IncompleteMarks unread;
    uint64_t end = kNoEnd;
    const absl::Status status = ScanSegment(
        segment.path,
        [&](const log::v1::BanditTuple& tuple) {
          return is_wanted(tuple) ? found : absl::OkStatus();
        },
        nullptr, &ignored, &unread, &end);
    if (status == found) return true;
    RETURN_IF_ERROR(status);
  }
  return false;
}

absl::Status VisitNewest(
    const TupleLog& log,
    const std::function<bool(const log::v1::BanditTuple&)>& visit) {
  const std::vector<TupleLog::Segment>& segments = log.segments();
  bool found = false;
  for (auto segment = segments.rbegin(); segment != segments.rend() && !found;
       ++segment) {
    if (!segment->is_read) continue;
    SegmentDamage ignored;  // It is counted when the segments are scanned.
    IncompleteMarks unread;
    uint64_t end = kNoEnd;
    RETURN_IF_ERROR(ScanSegment(
        segment->path,
        [&](const log::v1::BanditTuple& tuple) {
          found |= visit(tuple);
          return absl::OkStatus();
        },
        nullptr, &ignored, &unread, &end));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<uint32_t>> NewestNumFeatures(
    const TupleLog& log,
    const std::function<bool(const log::v1::BanditTuple&)>& is_usable) {
  constexpr size_t kNewest = 101;
  std::deque<uint32_t> newest;
  RETURN_IF_ERROR(VisitNewest(log, [&](const log::v1::BanditTuple& tuple) {
    if (!is_usable(tuple)) return false;
    newest.push_back(tuple.decision().num_features());
    if (newest.size() > kNewest) newest.pop_front();
    return true;
  }));
  if (newest.empty()) return std::nullopt;
  std::map<uint32_t, size_t> counts;
  for (const uint32_t num_features : newest) ++counts[num_features];
  return std::max_element(
             counts.begin(), counts.end(),
             [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace sortition
