#pragma once
// Counts what a log holds: a spool or a directory of tuples.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace sortition {

struct VersionStats {
  uint64_t decisions = 0;
  uint64_t with_feedback = 0;
  uint64_t censored = 0;  // Feedback may be missing.
  // Sums over the decisions, each weighted by 1 / keep_probability: estimates
  // of the sums over all decisions, also those that the log does not keep.
  double weight_sum = 0;
  double propensity_sum = 0;
  // Of those that are not censored.
  double uncensored_weight_sum = 0;
  double reward_sum = 0;
};

// A sum over tuples, each weighted by 1 / keep_probability.
struct WeightedSum {
  double weight_sum = 0;
  double sum = 0;
};

// What a shadow thought of decisions.
struct ShadowStats {
  uint64_t views = 0;
  double propensity_sum = 0;  // Of what was served.
  uint64_t in_tuples = 0;     // Views beside what was served.
  uint64_t agreements = 0;    // Of these: their mode was served.
};

// Its fields are the keys of the JSON form, or sums of which that has means.
// Distinct ids are counted exactly, by 128-bit hashes, which take some 50 bytes
// of memory per decision and feedback.
struct LogStats {
  uint64_t segments = 0;
  uint64_t segments_closed = 0;     // Their writer wrote a footer.
  uint64_t segments_recovered = 0;  // A footer was added after it died.
  uint64_t segments_open = 0;       // No footer; their writer is alive.
  uint64_t segments_abandoned = 0;  // No footer; nobody writes to them.
  uint64_t bytes = 0;
  uint64_t records = 0;  // Without headers and footers.
  uint64_t decisions = 0;
  uint64_t tuples = 0;
  uint64_t labels = 0;                  // Decisions and tuples of labels.
  uint64_t subsets = 0;                 // Decisions and tuples of subsets.
  uint64_t without_full_support = 0;    // Both: some actions had p = 0.
  uint64_t distinct_decision_ids = 0;   // Among decisions and tuples.
  uint64_t duplicate_decision_ids = 0;  // Decisions and tuples beyond those.
  uint64_t shown = 0;                   // Reports, in the spool or in tuples.
  uint64_t feedback = 0;
  uint64_t duplicate_feedback_ids = 0;
  uint64_t tuples_with_feedback = 0;
  uint64_t censored_tuples = 0;  // Feedback may be missing.
  uint64_t tuples_with_rank_rewards = 0;
  uint64_t tuples_with_seen_ranks = 0;
  uint64_t shadow_views = 0;  // In the spool or in tuples.
  uint64_t late = 0;          // The sum of the next four.
  uint64_t late_after_window = 0;
  uint64_t late_unknown_decision = 0;
  uint64_t late_out_of_range = 0;
  uint64_t late_no_such_candidate = 0;
  uint64_t late_too_many = 0;
  uint64_t incomplete_marks = 0;  // Of windows whose feedback went elsewhere.
  uint64_t foreign_feedback = 0;  // In those, for decisions of other servers.
  uint64_t unknown_feedback = 0;  // In those, for other unknown decisions.
  uint64_t gaps = 0;
  uint64_t lost_records = 0;  // Records that the gaps stand for.
  // Sequence numbers that no record has, between two segments of an
  // incarnation.
  uint64_t missing_records = 0;
  uint64_t torn_bytes = 0;  // At the ends of segments.
  uint64_t corrupt_records = 0;
  // How many of its ranks were shown, over the tuples of which that was
  // reported; how many of these the user looked at, over those that say so.
  WeightedSum shown_ranks;
  WeightedSum seen_ranks;
  int64_t first_time_us = 0;  // Of any decision; 0: none.
  int64_t last_time_us = 0;
  // By model and version. In a spool, the reward of a decision is the sum of
  // its feedback in the same log, each feedback id once; a tuple has its own
  // reward.
  std::map<std::pair<std::string, uint64_t>, VersionStats> models;
  std::map<std::pair<std::string, uint64_t>, ShadowStats> shadows;
  // Tuples by RewardJoinText(); without those that no sidecar joined.
  std::map<std::string, uint64_t> joins;
};

// Counts the records of `entries`, as in ScanLog().
absl::StatusOr<LogStats> CollectLogStats(
    const std::vector<std::string>& entries);

std::string LogStatsJson(const LogStats& stats);
std::string LogStatsText(const LogStats& stats);

}  // namespace sortition
