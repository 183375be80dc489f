#pragma once
// Reads all tuples of a log, one in memory at a time.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/segments/segment.h"
#include "sortition/log/v1/log.pb.h"
#include "trainer/tuples/scan/arrivals.h"
#include "trainer/tuples/scan/censored_share.h"
#include "trainer/tuples/scan/left_out.h"
#include "trainer/tuples/scan/overrides.h"
#include "trainer/tuples/scan/tuple_log.h"

namespace sortition {

// What TupleCounts.without_full_support calls a caller's baseline.
inline constexpr absl::string_view kBaselinePolicy = "baseline of the caller";

struct RewardCounts {
  uint64_t outside = 0;  // The range of rewards.
  uint64_t all = 0;
  std::string first_outside;  // "'id' is 2".
};

// What was read from a log, and what was left out.
struct TupleCounts {
  uint64_t read_tuples = 0;
  double kept_fraction = 1;    // Below 1: sub-sampled to fit memory_mb.
  uint64_t spilled_bytes = 0;  // Features in a scratch file …
  std::string scratch;         // … in this directory.
  std::map<std::string, uint64_t> excluded;  // From ReasonText() to count.
  // Tuples left out because they are of another model, by model; some of them
  // if there are many.
  std::map<std::string, uint64_t> other_models;
  // From a policy, such as "version 3, game_subset", to count: tuples that are
  // used although their policy gave some actions probability 0.
  std::map<std::string, uint64_t> without_full_support;
  // From a column that the features read, and that has no default, to count:
  // tuples that are used and lack it. It counts as missing.
  std::map<std::string, uint64_t> absent_columns;
  uint64_t tuples_with_columns = 0;  // Used ones.
  SegmentDamage damage;
  // Time of the last feedback for decisions that an incomplete log lacks; 0:
  // the log does not say that it is incomplete.
  int64_t incomplete_until_us = 0;
  uint64_t newest_version = 0;  // Among the policies that logged the tuples.
  // The version that logged the tuples for validation and test, unless force
  // made it all of them, and evaluates_baseline false.
  uint64_t baseline_version = 0;
  bool evaluates_baseline = true;

  // Times are microseconds since the epoch, 0 where a tuple has none.
  Arrivals arrivals;  // Of the tuples that are used; without labels.
  std::vector<int64_t> test_times_us;  // Of the test part, in no order.

  // Tuples that validate or test and that the caller's baseline had a part in:
  // their mean reward is not that of their version.
  uint64_t judged_with_baseline = 0;
  // Tuples of a baseline that always does the same, of all parts.
  uint64_t certain_baseline = 0;

  // Of the orders that are used: their logged ranks, and those that their
  // rewards depend on.
  uint64_t orders = 0;
  std::string ranks;  // TrainOptions.ranks, as it was taken.
  uint64_t logged_ranks = 0;
  uint64_t counted_ranks = 0;
  // Of those that train by rewards of their ranks: how many have some, and how
  // many count as one action all the same.
  uint64_t with_rank_rewards = 0;
  uint64_t orders_as_one = 0;

  // Columns of the decisions that no features are made of: from name to type,
  // as "TEXT".
  std::map<std::string, std::string> unread_columns;

  CensoredShare censored_share;
  OverriddenShare overridden;  // Of the tuples that are used.

  // Tuples that are usable if their reward is in the range.
  // A reward without feedback is the sidecar's default.
  RewardCounts with_feedback;
  RewardCounts without_feedback;

  void LeaveOut(LeftOutReason reason);
  // Leaves out `tuple`; `rank`, unless it is null, because of its reward.
  void LeaveOut(LeftOutReason reason, const log::v1::BanditTuple& tuple,
                const log::v1::RankReward* rank = nullptr);
  // Counts and leaves out a tuple because of the segment that it is in.
  void LeaveOutUnread(LeftOutReason reason, const std::string& detail);
  // Counts the reward of a tuple that is not left out.
  void TakeReward(const log::v1::BanditTuple& tuple);
  // Counts an order that is used.
  void TakeOrder(const log::v1::Decision& decision, size_t counted);
  double mean_logged_ranks() const;  // 0 where there are no orders.
  double mean_counted_ranks() const;
  uint64_t left_out(LeftOutReason reason) const;
  uint64_t excluded_tuples() const;
  // Returns "12 tuples read, 3 left out: other model", for messages.
  std::string DescribeExclusions() const;

 private:
  RewardCounts& CountsOf(const log::v1::BanditTuple& tuple);
};

// Smallest number of tuples of each part: the interval needs a variance.
inline constexpr size_t kFewestTuples = 2;

// Returns kCensored for a tuple whose feedback may be missing.
std::optional<LeftOutReason> CensoredReason(const log::v1::BanditTuple& tuple);

// Returns "the log has tuples of the models 'a' (12) and 'b' (3)"; empty if
// `counts` has no other models.
std::string OtherModelsText(const TupleCounts& counts);

// NotYet: the log has no tuple at all, and will have some.
absl::Status NoTuplesYet(const std::string& tuples);

// Logs what CensoredShare warns of.
void WarnOfCensoring(const TupleCounts& counts);

// Where each segment ended when a log was read first, of which the rest may
// still be being written.
struct ScanEnds {
  std::vector<uint64_t> offsets;  // Empty: it was not read yet.
};

// Calls `take` for each tuple, in the order of writing, and shows progress. An
// error of `take` ends the scan. Tuples with another join and copies are not
// taken: `counts` says how many they are. Segments that are still being written
// are read up to their last whole record; damaged records are skipped and
// counted. FailedPrecondition, at the end, if the log says that it is
// incomplete: to leave out the decisions without feedback would condition on
// the outcome. If the log allows that, it is a warning.
//
// The first whole scan with `ends` fills them in; later ones read up to there,
// so that all of them read the same. Calls `begin_segment` before the tuples of
// each segment, unless it is null.
absl::Status ScanTuples(
    const TupleLog& log,
    const std::function<absl::Status(const log::v1::BanditTuple&)>& take,
    TupleCounts* counts, ScanEnds* ends = nullptr,
    const std::function<void(const TupleLog::Segment&)>& begin_segment =
        nullptr);

// Returns whether there is such a tuple. Stops at the first.
absl::StatusOr<bool> HasTuple(
    const TupleLog& log,
    const std::function<bool(const log::v1::BanditTuple&)>& is_wanted);

// Visits the tuples of the newest segment, then those of the segment before,
// and so on, until `visit` has returned true for a tuple of the segment.
absl::Status VisitNewest(
    const TupleLog& log,
    const std::function<bool(const log::v1::BanditTuple&)>& visit);

// Returns the number of features that most of the newest usable tuples have;
// nothing if there are none. An application that changes its features goes on
// with the new ones, and one try with others decides nothing.
absl::StatusOr<std::optional<uint32_t>> NewestNumFeatures(
    const TupleLog& log,
    const std::function<bool(const log::v1::BanditTuple&)>& is_usable);

}  // namespace sortition
