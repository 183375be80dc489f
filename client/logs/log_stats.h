#pragma once
// Counts over a log: a spool or a directory of tuples.
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace sortition {

struct VersionStats {
  uint64_t decisions = 0;
  uint64_t with_feedback = 0;
  double reward_sum = 0;
  double propensity_sum = 0;
};

// The fields are the keys of the JSON form. Distinct ids are counted exactly,
// by 128-bit hashes: some 50 bytes of memory per decision and feedback.
struct LogStats {
  uint64_t segments = 0;
  uint64_t segments_closed = 0;     // With a footer of their writer.
  uint64_t segments_recovered = 0;  // With a footer made after it died.
  uint64_t segments_open = 0;       // Without footer, their writer lives.
  uint64_t segments_abandoned = 0;  // Without footer, nobody writes to them.
  uint64_t bytes = 0;
  uint64_t records = 0;  // Without headers and footers.
  uint64_t decisions = 0;
  uint64_t tuples = 0;
  uint64_t labels = 0;                  // Of both: those that chose labels.
  uint64_t subsets = 0;                 // Of both: subsets of the candidates.
  uint64_t without_full_support = 0;    // Of both: some actions had p = 0.
  uint64_t distinct_decision_ids = 0;   // Of decisions and tuples.
  uint64_t duplicate_decision_ids = 0;  // Decisions and tuples beyond these.
  uint64_t shown = 0;                   // Reports, in the spool or in tuples.
  uint64_t feedback = 0;
  uint64_t duplicate_feedback_ids = 0;
  uint64_t tuples_with_feedback = 0;
  uint64_t late = 0;  // Of these:
  uint64_t late_after_window = 0;
  uint64_t late_unknown_decision = 0;
  uint64_t gaps = 0;
  uint64_t lost_records = 0;  // That the gaps stand for.
  // Sequence numbers between two segments of an incarnation that no record has.
  uint64_t missing_records = 0;
  uint64_t torn_bytes = 0;  // At ends of segments, cut by a recovery or not.
  uint64_t corrupt_records = 0;
  int64_t first_time_us = 0;  // Of decisions; 0: there are none.
  int64_t last_time_us = 0;
  // By model and version. A spool's reward of a decision is the sum of its
  // feedback in the same log, once per feedback id; a tuple's is its own.
  std::map<std::pair<std::string, uint64_t>, VersionStats> models;
};

// `path` as in ScanLog().
absl::StatusOr<LogStats> CollectLogStats(const std::string& path);

std::string LogStatsJson(const LogStats& stats);
std::string LogStatsText(const LogStats& stats);

}  // namespace sortition
