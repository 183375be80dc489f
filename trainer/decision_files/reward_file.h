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

// What a file has of a decision.
struct Outcome {
  // True if the outcome must have arrived (RewardFile::Look).
  bool is_covered = false;
  bool has_row = false;
  // Unset if the outcome is unknown: the file does not cover the decision, or
  // it lacks a row although it is not sparse.
  std::optional<double> reward = {};
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
  // Either `period` or the file must declare up to when outcomes are complete:
  // InvalidArgument if neither does, or if that time is in the future. If both
  // declare it, the earlier time holds. InvalidArgument if a sparse file has no
  // row: a failed export looks the same as a time without outcomes.
  static absl::StatusOr<RewardFile> Read(
      const std::string& path, const OutcomePeriod& period,
      const std::optional<RewardBounds>& bounds = std::nullopt);

  // Returns true if a decision has a row, at whatever time it was made.
  bool HasRow(absl::string_view decision_id) const {
    return rewards_.contains(HashBytes(decision_id));
  }
  // Returns what the file has of a decision of this time. The file covers the
  // decision if it was made from the beginning of the file's period on, and at
  // least the horizon before its end. This depends on nothing but the time, so
  // that the decisions of the period are a fair sample. A covered decision
  // without a row has the reward 0 in a sparse file. In any other file it has
  // none, and OutcomeCoverage::Check() refuses the file. A decision without a
  // time is covered only by a file with the horizon 0 and no beginning.
  Outcome Look(absl::string_view decision_id, int64_t time_us) const;

  const OutcomePeriod& period() const { return period_; }
  bool is_sparse() const { return period_.is_sparse; }
  // Decisions later than this are not judged.
  int64_t judged_until_us() const {
    return *period_.through_us - period_.horizon_us;
  }
  // Guardrails are on rewards that must not fall. InvalidArgument if the
  // rewards may be complaints with the wrong sign: some are positive, none is
  // negative, and no range was given. `name` is that of the reward.
  absl::Status CheckCanBeGuarded(absl::string_view name) const;
  // Describes the judged decisions in words, for messages.
  std::string PeriodText() const;

  size_t num_decisions() const { return rewards_.size(); }
  // The decision id of the first row; empty if there is none.
  const std::string& example() const { return example_; }
  // The range of the rewards, 0 among them.
  double min() const { return min_; }
  double max() const { return max_; }
  // Whether it was given, rather than taken from the file.
  bool is_range_given() const { return is_range_given_; }
  // False if all rewards are 0, which says nothing of their range.
  bool is_range_known() const { return min_ < max_; }
  const std::string& path() const { return path_; }

 private:
  // Takes the end of the period that the file declares, if it does. Clocks may
  // differ by a minute; no later outcomes than those of now count as known.
  absl::Status SetThrough(const std::string& declared);

  std::string path_;
  std::string example_;
  OutcomePeriod period_;
  absl::flat_hash_map<Hash128, double, Hash128Hasher> rewards_;
  double min_ = 0;
  double max_ = 0;
  bool is_range_given_ = false;
};

}  // namespace sortition
