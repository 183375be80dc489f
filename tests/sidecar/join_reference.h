#pragma once
// The join as docs/join.md states it, by looking at all pairs of events: slow,
// without files, and independent of sidecar/join/joiner.cc.
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sidecar/join/join_records.h"
#include "sortition/config/v1/sidecar.pb.h"

namespace sortition::testing_sidecar {

// Decisions of random spools have this number of candidates.
inline constexpr uint32_t kNumCandidates = 3;
// A decision with this answer is an abstention.
inline constexpr uint64_t kAbstention = 8;

// A record of the spool, or a look at the clock.
struct JoinEvent {
  enum class Kind {
    kDecision,
    kShown,
    kFeedback,
    // All of the spool before this event has been read; `time_us` is the wall
    // clock before that.
    kLook,
    kView,  // Of a shadow.
  };
  Kind kind = Kind::kDecision;
  std::string decision_id;
  std::string feedback_id;  // Feedback only.
  int64_t time_us = 0;
  double reward = 0;  // Feedback only.
  // Feedback only: the candidate that it is about.
  std::optional<uint32_t> index = std::nullopt;
  uint64_t answer = 0;  // Decisions: what was answered. Views: the version.
  // Shown only: as in the record.
  bool not_shown = false;
  std::vector<uint32_t> shown = {};
  uint32_t first_rank = 0;
  std::optional<uint32_t> seen_ranks = std::nullopt;
};

// What the events give. Events are named by their index.
struct JoinResult {
  struct Tuple {
    double reward = 0;
    bool has_feedback = false;
    // Feedback, the pages that were shown, and the report of a viewport that
    // counts, in spool order.
    std::vector<size_t> reports;
    std::optional<log::v1::Shown> shown;  // What the reports say together.
    std::vector<size_t> views;            // Ascending by version.
  };
  std::map<size_t, Tuple> tuples;  // By decision; only those to be written.
  std::map<size_t, log::v1::LateFeedback::Reason> late;  // By feedback.
  size_t num_ambiguous = 0;
  JoinCounts counts;
};

// Joins `events`, which are in the order of the spool. Every window is over at
// the end.
JoinResult ReferenceJoin(const std::vector<JoinEvent>& events,
                         const config::v1::JoinOptions& options);

}  // namespace sortition::testing_sidecar
