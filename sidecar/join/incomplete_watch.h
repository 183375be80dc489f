#pragma once
// Detects that this log lacks feedback or decisions: feedback arrives for
// decisions that it does not have.
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "core/base/hash.h"
#include "sortition/config/v1/sidecar.pb.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Counts the feedback of each window, and how much of it is for decisions that
// no spool has. A few such ids are the mistake of a client and say nothing
// about the log. The log is incomplete if they are at least 10 decisions and
// more than `max_unknown_share` of the feedback. Windows are judged together
// until they have so many of them, or so much feedback that so many would be
// within the share: so a log with little traffic is judged, too, only later.
//
// Not thread-safe. Times are log times in microseconds.
class IncompleteWatch {
 public:
  explicit IncompleteWatch(const config::v1::JoinOptions& options);

  // Says that the decisions of this writer are joined here.
  void AddWriter(absl::string_view writer_id);

  // Notes that decisions from before the start are not known. Their feedback
  // may come for a window, so the first two windows are not judged by decisions
  // that may be among them.
  void BeginInTheMiddle() { begins_in_the_middle_ = true; }

  // Takes feedback, all that comes.
  void TakeFeedback(int64_t time_us);
  // Takes feedback, which TakeFeedback() has taken, whose decision did not come
  // while it was waited for. `may_be_lost`: the decision may be one that the
  // tuples near it are censored for. Then only the id of another writer counts.
  void TakeUnknown(absl::string_view decision_id, int64_t time_us,
                   bool may_be_lost = false);

  // Returns what to write about windows of which the fate of all feedback is
  // known by `watermark_us`. Call it until it returns nothing.
  std::optional<log::v1::Incomplete> Next(int64_t watermark_us);
  // Returns what is known about the last windows that had feedback for unknown
  // decisions and too little of it to make the log incomplete. Nothing if there
  // were none since the last call.
  std::optional<log::v1::Incomplete> TakeTolerated();

  uint64_t foreign_feedback() const { return foreign_feedback_; }
  uint64_t unknown_feedback() const { return unknown_feedback_; }

 private:
  // Feedback for unknown decisions.
  struct Unknown {
    uint64_t feedback = 0;
    // The first decisions, no more than are needed.
    absl::flat_hash_set<Hash128, Hash128Hasher> decisions;

    void Add(absl::string_view decision_id);
    void Add(const Unknown& other);
  };
  // One window, or several that are judged together.
  struct Window {
    int64_t first_us = 0;
    int64_t last_us = 0;
    uint64_t feedback = 0;
    Unknown foreign;  // For decisions of writers that are not joined here.
    Unknown unknown;  // For other decisions.

    void Add(const Window& other);
    uint64_t num_unknown() const { return foreign.feedback + unknown.feedback; }
  };
  Window& WindowOf(int64_t time_us);
  bool IsIncomplete(const Window& window) const;
  bool IsSound(const Window& window) const;
  static log::v1::Incomplete Describe(const Window& window);

  const double max_unknown_share_;
  const int64_t window_us_;
  const int64_t slack_us_;
  bool begins_in_the_middle_ = false;
  std::optional<int64_t> first_number_;  // Of the first window.
  std::set<uint32_t> writer_tags_;
  std::map<int64_t, Window> windows_;  // By their number since the epoch.
  Window unjudged_;                    // Earlier ones that had too little.
  std::optional<log::v1::Incomplete> tolerated_;
  uint64_t foreign_feedback_ = 0;
  uint64_t unknown_feedback_ = 0;
};

}  // namespace sortition
