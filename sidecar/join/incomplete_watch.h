#pragma once
// Finds out that feedback for this log goes elsewhere: feedback for decisions
// of others comes here.
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/string_view.h"
#include "sortition/config/v1/sidecar.pb.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Not thread-safe. Times are log times in microseconds.
class IncompleteWatch {
 public:
  explicit IncompleteWatch(const config::v1::JoinOptions& options);

  // Says that the decisions of this writer are joined here.
  void AddWriter(absl::string_view writer_id);

  // Says that feedback from before a restart is not taken again: of the first
  // window the share of unknown feedback says nothing.
  void BeginInTheMiddle() { begins_in_the_middle_ = true; }

  // Takes feedback, all that comes.
  void TakeFeedback(int64_t time_us);
  // Takes feedback, which TakeFeedback() has taken, whose decision did not come
  // while it was waited for. With `may_be_lost` the decision may have been lost
  // here: then only an id of another writer is a sign.
  void TakeUnknown(absl::string_view decision_id, int64_t time_us,
                   bool may_be_lost = false);

  // Returns what to write about a window of which the fate of all feedback is
  // known by `watermark_us`. Call it until it returns nothing.
  std::optional<log::v1::Incomplete> Next(int64_t watermark_us);

  uint64_t foreign_feedback() const { return foreign_feedback_; }
  uint64_t unknown_feedback() const { return unknown_feedback_; }

 private:
  struct Window {
    int64_t first_us = 0;
    int64_t last_us = 0;
    uint64_t feedback = 0;
    uint64_t foreign = 0;
    uint64_t unknown = 0;
  };
  Window& WindowOf(int64_t time_us);
  bool IsIncomplete(const Window& window, bool is_whole) const;

  const double max_unknown_share_;
  const int64_t window_us_;
  const int64_t slack_us_;
  bool begins_in_the_middle_ = false;
  std::optional<int64_t> first_number_;  // Of the first window.
  std::set<uint32_t> writer_tags_;
  std::map<int64_t, Window> windows_;  // By their number since the epoch.
  uint64_t foreign_feedback_ = 0;
  uint64_t unknown_feedback_ = 0;
};

}  // namespace sortition
