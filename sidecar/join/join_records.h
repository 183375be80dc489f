#pragma once
// The inputs and outputs of the join.
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// The place of a record. Segments are counted from 1 in the order of their
// spool; 0 stands for all segments removed before this process started.
struct SpoolPlace {
  uint32_t segment = 0;
  uint64_t offset = 0;
  uint32_t spool = 0;
  friend auto operator<=>(const SpoolPlace&, const SpoolPlace&) = default;
};

// What the join needs of a decision besides its id and time.
struct DecisionFacts {
  // Equal for two records of one id that give the same answer.
  uint64_t answer = 0;
  bool is_kept = true;  // False: left out by keep_probability.
  // Number of candidates of the request; 0: not known.
  uint32_t num_candidates = 0;
  // True for an abstention and for an empty subset: nothing is to be shown.
  bool is_empty = false;
};

// A shown or feedback record, as it is kept until its decision is closed.
struct JoinedRecord {
  SpoolPlace place;
  int64_t time_us = 0;
  double reward = 0;  // Feedback only.
  bool is_shown = false;
  std::string bytes;  // Serialised Shown or Feedback.
  // Of a page that was shown: its first rank. A report of what was shown
  // without it is a viewport report.
  std::optional<uint32_t> rank = std::nullopt;
  // Of feedback: the document_index of the candidate that it names.
  std::optional<uint32_t> index = std::nullopt;
  uint32_t seen_ranks = 0;  // Of a report of what was shown; 0: not said.
};

// A shadow's view of a decision. Its bytes stay in the spool until the decision
// is closed.
struct JoinedView {
  SpoolPlace place;
  uint64_t version = 0;
};

// A decision whose window is over.
struct ClosedDecision {
  SpoolPlace place;
  int64_t time_us = 0;
  bool is_wanted = true;      // False: not shown, and only_if_shown is set.
  bool is_empty = false;      // As in DecisionFacts.
  bool is_ambiguous = false;  // The same id was also answered differently.
  bool is_kept = true;        // False: left out by keep_probability.
  bool is_elsewhere = false;  // The outcome is that of another spool's copy.
  bool has_feedback = false;
  // Decisions with a smaller number must be on the disk before the output
  // passes this one: one of them is repeated before it in its spool.
  uint64_t after_number = 0;
  // Why feedback may be missing.
  std::vector<log::v1::CensorReason> censored;
  double reward = 0;                              // Aggregated, or the default.
  std::vector<log::v1::RankReward> rank_rewards;  // Ascending by rank.
  // All reports of what was shown, put together (shown_pages.h).
  std::optional<log::v1::Shown> shown;
  // Feedback in reading order, and behind it at most one report for each page
  // that was shown, by rank, and one viewport report.
  std::vector<JoinedRecord> records;
  std::vector<JoinedView> views;  // Ascending by version, each at most once.
};

struct LateRecord {
  SpoolPlace place;
  log::v1::LateFeedback::Reason reason =
      log::v1::LateFeedback::REASON_UNSPECIFIED;
  std::string feedback;  // Serialised Feedback.
};

// An id that is remembered longer than its record: see Joiner::IdsOfSegment().
struct RememberedId {
  Hash128 hash;
  int64_t time_us = 0;
  uint32_t segment = 0;
  bool is_feedback = false;  // Otherwise the id of a decision.
  uint32_t spool = 0;
};

// A pending decision whose id came again.
struct RepeatedDecision {
  SpoolPlace place;     // Of the pending one.
  uint64_t number = 0;  // For Joiner::LeaveToOther().
};

struct JoinCounts {
  uint64_t decisions = 0;            // Duplicates not counted.
  uint64_t duplicate_decisions = 0;  // Including other answers.
  uint64_t shown = 0;                // Joined, without viewport reports.
  // A page that was reported before, one page too many, late, or decision
  // unknown.
  uint64_t unused_shown = 0;
  uint64_t viewports = 0;       // Viewport reports joined to decisions.
  uint64_t pages_left_out = 0;  // Joined, and beyond a gap.
  uint64_t feedback = 0;        // Joined.
  uint64_t duplicate_feedback = 0;
  uint64_t after_window = 0;
  uint64_t unknown_decision = 0;  // Including held_overflow.
  uint64_t out_of_range = 0;
  uint64_t no_such_candidate = 0;  // Its index or rank cannot be.
  uint64_t too_many = 0;           // Feedback beyond the limit of its decision.
  uint64_t held_overflow = 0;      // Not held: too many wait for a decision.
  uint64_t corrected_times = 0;    // Times of records that were in the future.
  uint64_t views = 0;              // Joined.
  uint64_t duplicate_views = 0;    // Of a version whose view is there.
  uint64_t late_views = 0;         // After the window.
  uint64_t unknown_views = 0;      // Of a decision that the log does not have.
};

}  // namespace sortition
