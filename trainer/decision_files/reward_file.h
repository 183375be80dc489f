#pragma once
// A reward of each decision, from a file: beside the one that the log has.
#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/hash.h"
#include "trainer/decision_files/named_files.h"

namespace sortition {

// What rewards can be; min <= 0 <= max and min < max.
struct RewardBounds {
  double min = 0;
  double max = 0;
};

class RewardFile {
 public:
  // Rewards are in [-kMostReward, kMostReward].
  static constexpr double kMostReward = 1e9;
  // More decisions than this, some 4 GB of memory, are refused.
  static constexpr size_t kMostDecisions = 100'000'000;

  // Reads rows of decision_id and reward, as JSON or CSV (DecisionRows).
  // InvalidArgument, naming file and line, for a row without one of them, a
  // reward outside of `bounds`, or a decision that is there twice. Without
  // bounds the range is that of the file.
  //
  // `period`, the file, or both declare the time up to which outcomes are
  // complete. If both do, the earlier time holds. InvalidArgument if neither
  // does, or if that time is in the future.
  static absl::StatusOr<RewardFile> Read(
      const std::string& path, const OutcomePeriod& period,
      const std::optional<RewardBounds>& bounds = std::nullopt);

  // Returns the reward in the row of a decision; nullopt if it has no row.
  std::optional<double> Find(absl::string_view decision_id) const;

  // Returns true if the outcome of a decision of this time must have arrived:
  // the decision was made from the beginning of the file's period on, and at
  // least the horizon before its end. This depends only on the time, so that
  // the covered decisions are an unbiased sample.
  bool Covers(int64_t time_us) const {
    return time_us >= period_.from_us.value_or(time_us) &&
           time_us <= judged_until_us();
  }
  // Returns the reward of a decision of this time; 0 if it has no row in a
  // sparse file. Returns nullopt, because the outcome is unknown, if the file
  // does not cover the decision, or is not sparse and has no row for it.
  std::optional<double> RewardOf(absl::string_view decision_id,
                                 int64_t time_us) const;

  const OutcomePeriod& period() const { return period_; }
  // Returns the time of the latest decision that is judged.
  int64_t judged_until_us() const {
    return *period_.through_us - period_.horizon_us;
  }
  // Describes the judged decisions in words, for messages.
  std::string PeriodText() const;

  size_t num_decisions() const { return rewards_.size(); }
  // The range of the rewards, 0 among them.
  double min() const { return min_; }
  double max() const { return max_; }
  // Whether it was given, rather than taken from the file.
  bool is_range_given() const { return is_range_given_; }
  // False if all rewards are 0, which says nothing of their range.
  bool is_range_known() const { return min_ < max_; }
  const std::string& path() const { return path_; }

 private:
  // Sets the end of the period from the declaration of the file; empty: none.
  absl::Status SetThrough(const std::string& declared);

  std::string path_;
  OutcomePeriod period_;
  absl::flat_hash_map<Hash128, double, Hash128Hasher> rewards_;
  double min_ = 0;
  double max_ = 0;
  bool is_range_given_ = false;
};

}  // namespace sortition
