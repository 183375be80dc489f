#pragma once
// Joins decisions with what was shown and with feedback (docs/join.md): a left
// outer join by decision id within a window of log time.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/base/hash.h"
#include "sidecar/join/censored_times.h"
#include "sidecar/join/join_records.h"
#include "sortition/config/v1/sidecar.pb.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Add the records of each spool in its order, those of several spools merged by
// log time, and after each one take out what is ready.
// The results depend on the log times alone, not on when it is called, as long
// as every record reaches the spool within `slack` of its time. Uses no files,
// clocks or threads. Memory: about 150 bytes per pending decision, 80 per
// remembered id, and the records of pending decisions. The number and the bytes
// of the records of one decision are bounded, known or not, and the work for
// one more of them does not depend on how many there are.
class Joiner {
 public:
  explicit Joiner(const config::v1::JoinOptions& options);

  // Returns the decision that this one repeats, if that is pending.
  std::optional<RepeatedDecision> AddDecision(SpoolPlace place,
                                              absl::string_view id,
                                              int64_t time_us,
                                              const DecisionFacts& facts);
  // Says that the outcome of this pending decision is that of another copy.
  void LeaveToOther(const RepeatedDecision& first);
  // Keeps reports of different pages, of one page the first, and of how far the
  // user looked the farthest.
  void AddShown(SpoolPlace place, const log::v1::Shown& shown);
  // Requires a finite reward. Feedback is not joined but late if its reward is
  // outside [reward_min, reward_max], if its decision has no candidate of its
  // index, or fewer candidates than its rank needs, or if it is beyond the
  // limit of its decision.
  void AddFeedback(SpoolPlace place, const log::v1::Feedback& feedback);
  // `time_us` is the time of the view, which comes after its decision. What is
  // not joined is only counted; a decision that is left out needs no views.
  void AddView(SpoolPlace place, absl::string_view decision_id, int64_t time_us,
               uint64_t version);
  // Adds an id of a removed segment. Must be called before any record is added.
  void AddRemembered(const RememberedId& id);

  // Later times than this are taken for this one from now on: no record comes
  // from the future.
  void SetLatestTime(int64_t time_us) { latest_us_ = time_us; }

  // Censors every decision whose window meets [first_us, last_us]: feedback of
  // that time may be missing. Call it before a record of a later time is added.
  void Censor(log::v1::CensorReason reason, int64_t first_us, int64_t last_us);
  // The same for [since_us, until_us], until this is called again for `spool`;
  // nullopt: it has ended, and Censor() has been told.
  void CensorFrom(log::v1::CensorReason reason, std::optional<int64_t> since_us,
                  int64_t until_us, uint32_t spool = 0);

  // Returns whether something of this time may be missing.
  bool MayMiss(int64_t first_us, int64_t last_us) const {
    return !censored_.ReasonsIn(first_us, last_us).empty();
  }

  // Says that every record up to this log time has been added.
  void AdvanceTo(int64_t time_us);

  // Returns the next decision, in the order of adding, if its window is over; a
  // decision whose window is open blocks those behind it.
  std::optional<ClosedDecision> PopClosed();
  // Returns the place of the decision that PopClosed() will return next, if
  // there is one.
  std::optional<SpoolPlace> NextPlace() const;
  // Returns how many decisions PopClosed() has returned: they have the numbers
  // before this one.
  uint64_t num_closed() const { return first_number_; }
  std::optional<LateRecord> PopLate();
  bool has_late() const { return !late_.empty(); }

  int64_t watermark_us() const { return watermark_us_; }
  size_t num_pending() const { return queue_.size(); }
  const JoinCounts& counts() const { return counts_; }

  // Returns the oldest segment of `spool` whose records may still go into an
  // output; UINT32_MAX if there is none.
  uint32_t OldestNeededSegment(uint32_t spool = 0) const;
  // Returns the ids that must be remembered if a segment is removed.
  std::vector<RememberedId> IdsOfSegment(uint32_t segment,
                                         uint32_t spool = 0) const;
  // Only ids of segments before `segment` may be forgotten when they are old.
  void AllowForgettingBefore(uint32_t segment, uint32_t spool = 0) {
    ids_[spool].forget_before = segment;
  }
  // Returns true if the windows of decisions up to this time are over, and
  // records up to this time no longer wait for a decision.
  bool IsOver(int64_t time_us) const;

 private:
  template <typename Value>
  using MapByHash = absl::flat_hash_map<Hash128, Value, Hash128Hasher>;

  enum class State : uint8_t { kPending, kEmitted, kRemembered };
  struct Known {
    int64_t time_us = 0;
    uint64_t number = 0;  // In the order of adding; kRemembered: 0.
    uint32_t spool = 0;
    State state = State::kPending;
  };
  // The reports of what was shown of one decision, as far as the tuple depends
  // on them.
  struct ShownReports {
    std::map<uint32_t, JoinedRecord> pages;  // By first rank.
    uint64_t page_bytes = 0;
    // Pages from this rank on are not kept.
    uint32_t pages_end = std::numeric_limits<uint32_t>::max();
    std::optional<JoinedRecord> viewport;
  };
  struct Pending {
    Hash128 id;
    int64_t time_us = 0;
    // The watermark when it came. The decision stays open for a window from
    // there, so that a clock that was briefly ahead closes nothing.
    int64_t came_at_us = 0;
    SpoolPlace place;
    DecisionFacts facts;
    bool is_ambiguous = false;
    bool is_elsewhere = false;
    uint64_t after_number = 0;           // As in ClosedDecision.
    std::vector<JoinedRecord> feedback;  // In reading order.
    uint64_t feedback_bytes = 0;
    std::unique_ptr<ShownReports> shown;  // Null: nothing was reported.
    std::vector<JoinedView> views;
  };
  // Keys of `known_` and `seen_feedback_` that came from one spool.
  struct SpoolIds {
    uint32_t forget_before = 1;
    std::deque<RememberedId> ids;  // In spool order.
    // Behind the numbers of the decisions of other spools that were repeated
    // here.
    uint64_t repeated_until = 0;
  };
  struct HeldId {
    Hash128 decision;
    SpoolPlace place;
    int64_t came_at_us = 0;  // As in Pending.
  };

  bool HasPassed(int64_t time_us, int windows) const;
  // Returns the time of a record, or `latest_us_` if it is later: one wrong
  // stamp must not close the windows of all.
  int64_t Correct(int64_t time_us);
  // An id is known for two windows of log time, whatever is in memory.
  bool IsKnownAt(const Known& known, int64_t time_us) const {
    return time_us <= known.time_us + 2 * window_us_;
  }
  bool IsDuplicateFeedback(const Hash128& feedback, int64_t time_us) const;
  void RememberFeedback(const Hash128& feedback, SpoolPlace place,
                        int64_t time_us);
  // These three return false if the record was rejected because a limit is
  // reached. Its id is not remembered then, so that a flood costs no memory.
  bool AddRecord(const Hash128& decision, JoinedRecord record);
  bool Hold(const Hash128& decision, JoinedRecord record);
  bool Attach(Pending* pending, JoinedRecord record);
  void AttachShown(ShownReports* shown, JoinedRecord record);
  void AttachViewport(ShownReports* shown, JoinedRecord record);
  // Drops the pages with the largest ranks while there are too many. Returns
  // true if there were.
  bool LimitPages(ShownReports* shown);
  // Counts a page that is not kept. Its `seen_ranks` counts all the same.
  void LeaveOutPage(ShownReports* shown, JoinedRecord page);
  // Moves the records of `pending` to `closed`.
  void MoveRecords(Pending* pending, ClosedDecision* closed);
  void AdoptHeld(Pending* pending);
  void Reject(JoinedRecord record, log::v1::LateFeedback::Reason reason);
  void ExpireHeld();
  void Forget();
  void ForgetIdsOf(SpoolIds* spool);
  // Notes that an output needs, or needs no more, the record at `place`.
  void Need(SpoolPlace place) { ++needed_[{place.spool, place.segment}]; }
  void Release(SpoolPlace place);
  // Puts together what the records say was shown.
  void SetShown(ClosedDecision* closed);

  const config::v1::JoinOptions options_;
  const int64_t window_us_;
  const int64_t slack_us_;
  int64_t watermark_us_ = 0;
  int64_t latest_us_ = std::numeric_limits<int64_t>::max();
  JoinCounts counts_;
  std::deque<Pending> queue_;
  uint64_t first_number_ = 0;  // Number of queue_.front().
  MapByHash<Known> known_;
  MapByHash<int64_t> seen_feedback_;  // Time of the first with this id.
  std::map<uint32_t, SpoolIds> ids_;  // By spool.
  // By unknown decision, in the order of adding.
  MapByHash<std::deque<JoinedRecord>> held_;
  std::deque<HeldId> held_order_;  // May name records that were adopted.
  size_t num_held_ = 0;
  // Number of pending decisions, their records and held records, by spool and
  // segment.
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> needed_;
  std::deque<LateRecord> late_;
  CensoredTimes censored_;
};

}  // namespace sortition
