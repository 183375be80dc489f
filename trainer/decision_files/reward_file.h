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
  static absl::StatusOr<RewardFile> Read(
      const std::string& path,
      const std::optional<RewardBounds>& bounds = std::nullopt);

  // Returns 0 for a decision that the file lacks, as the sidecar does for one
  // without feedback.
  double RewardOf(absl::string_view decision_id) const;
  bool Has(absl::string_view decision_id) const;

  // FailedPrecondition if the file has decisions, and none of them was found in
  // a log of which it had `found`: it is of other decisions.
  absl::Status CheckFound(uint64_t found) const;

  // FailedPrecondition if less than half of the file's decisions are among all
  // decisions of a log: it is of other decisions, and those of the log that it
  // lacks are not without reward. Decisions that it lacks say nothing, as a
  // file may have complaints only.
  absl::Status CheckMostFound(uint64_t found) const;

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
  std::string path_;
  absl::flat_hash_map<Hash128, double, Hash128Hasher> rewards_;
  double min_ = 0;
  double max_ = 0;
  bool is_range_given_ = false;
};

}  // namespace sortition
