#pragma once
// What goes into the join and what comes out of it.
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Place of a record in the spool. Segments are counted from 1 in spool order;
// 0 stands for all that were removed before this process started.
struct SpoolPlace {
  uint32_t segment = 0;
  uint64_t offset = 0;
  friend auto operator<=>(const SpoolPlace&, const SpoolPlace&) = default;
};

// A shown or feedback record, as it is kept until its decision is emitted.
struct JoinedRecord {
  SpoolPlace place;
  int64_t time_us = 0;
  double reward = 0;  // Feedback only.
  bool is_shown = false;
  std::string bytes;  // Serialised Shown or Feedback.
};

// A decision whose window is over.
struct ClosedDecision {
  SpoolPlace place;
  int64_t time_us = 0;
  bool is_wanted = true;      // False: only_if_shown, and it was not.
  bool is_ambiguous = false;  // The same id was answered in another way too.
  bool has_feedback = false;
  double reward = 0;                  // Aggregated, or the default.
  std::vector<JoinedRecord> records;  // In spool order, at most one shown.
};

struct LateRecord {
  SpoolPlace place;
  log::v1::LateFeedback::Reason reason =
      log::v1::LateFeedback::REASON_UNSPECIFIED;
  std::string feedback;  // Serialised Feedback.
};

// An id that outlives its record: see Joiner::IdsOfSegment().
struct RememberedId {
  Hash128 hash;
  int64_t time_us = 0;
  uint32_t segment = 0;
  bool is_feedback = false;  // Of feedback; else of a decision.
};

struct JoinCounts {
  uint64_t decisions = 0;            // Without duplicates.
  uint64_t duplicate_decisions = 0;  // Another answer included.
  uint64_t shown = 0;                // Joined.
  uint64_t unused_shown = 0;         // Second, late, or of no known decision.
  uint64_t feedback = 0;             // Joined.
  uint64_t duplicate_feedback = 0;
  uint64_t after_window = 0;
  uint64_t unknown_decision = 0;
};

}  // namespace sortition
