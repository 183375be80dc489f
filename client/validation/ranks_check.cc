#include "client/validation/ranks_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "io/segments/shown_action.h"

namespace sortition {

void RanksCheck::Take(const LogEntry& entry) {
  if (entry.record != nullptr && entry.record->has_late()) {
    CheckLate(entry);
  }
  if (entry.tuple == nullptr) return;
  const log::v1::BanditTuple& tuple = *entry.tuple;
  const uint32_t ranks = NumRanks(tuple.decision());
  if (tuple.shown().has_seen_ranks()) {
    ++with_seen_;
    const uint32_t seen = tuple.shown().seen_ranks();
    if (seen < 1 || seen > ranks) {
      seen_.Add(entry,
                ranks == 0
                    ? absl::StrCat("seen_ranks is ", seen,
                                   ", must be unset: the action has no ranks")
                    : absl::StrCat("seen_ranks is ", seen, ", must be in [1, ",
                                   ranks, "], the ranks of the action"));
    }
  }
  CheckIndexes(entry);
  if (tuple.rank_rewards().empty()) return;
  ++with_rewards_;
  uint32_t largest = 0;
  for (const log::v1::RankReward& reward : tuple.rank_rewards()) {
    largest = std::max(largest, reward.rank());
  }
  if (largest < ranks) return;
  rewards_.Add(entry,
               ranks == 0
                   ? absl::StrCat("feedback is about rank ", largest,
                                  ", must be about none: the action has none")
                   : absl::StrCat("feedback is about rank ", largest,
                                  ", must be in [0, ", ranks,
                                  "), the ranks of the action"));
}

void RanksCheck::CheckLate(const LogEntry& entry) {
  ++late_;
  const log::v1::LateFeedback& late = entry.record->late();
  if (late.reason() != log::v1::LateFeedback::NO_SUCH_CANDIDATE) return;
  const log::v1::Feedback& feedback = late.feedback();
  no_candidate_.Add(
      entry, absl::StrCat(
                 "feedback of decision ", feedback.decision_id(), " is about ",
                 feedback.has_index() ? "document_index " : "rank ",
                 feedback.has_index() ? feedback.index() : feedback.rank(),
                 ", must be below the number of candidates of its "
                 "request: it is in no reward"));
}

void RanksCheck::CheckIndexes(const LogEntry& entry) {
  const log::v1::BanditTuple& tuple = *entry.tuple;
  const auto& action = tuple.decision().action();
  const auto& shown = tuple.shown().shown();
  bool has_index = false;
  for (const log::v1::Feedback& feedback : tuple.feedback()) {
    if (!feedback.has_index()) continue;
    has_index = true;
    const uint32_t index = feedback.index();
    if (std::find(shown.begin(), shown.end(), index) != shown.end() ||
        std::any_of(action.begin(), action.end(), [&](int32_t document) {
          return int64_t{document} == int64_t{index};
        })) {
      continue;
    }
    indexes_.Add(entry, absl::StrCat("feedback is about document_index ", index,
                                     ", must be about a candidate of the "
                                     "action: it is a reward of no rank"));
    break;
  }
  with_indexes_ += has_index;
}

std::vector<Finding> RanksCheck::Report() const {
  std::vector<Finding> findings;
  if (rewards_.count() > 0) {
    findings.push_back(
        {Level::kWarn,
         rewards_.Text(with_rewards_, "tuples with rewards of ranks")});
  }
  if (indexes_.count() > 0) {
    findings.push_back(
        {Level::kWarn, indexes_.Text(with_indexes_,
                                     "tuples with feedback about candidates")});
  }
  if (no_candidate_.count() > 0) {
    findings.push_back(
        {Level::kWarn, no_candidate_.Text(late_, "late feedback")});
  }
  if (seen_.count() > 0) {
    findings.push_back(
        {Level::kWarn, seen_.Text(with_seen_, "tuples with seen_ranks")});
  }
  if (findings.empty()) {
    findings.push_back(
        {Level::kPass, absl::StrCat("the rewards of ranks of ", with_rewards_,
                                    " tuples and what was seen of ", with_seen_,
                                    " are within their actions")});
  }
  return findings;
}

}  // namespace sortition
