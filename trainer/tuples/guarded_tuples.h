#pragma once
// The guarded rewards of tuples, from the time these are read until each has
// its part.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sortition/log/v1/log.pb.h"
#include "trainer/decision_files/guarded_rewards.h"
#include "trainer/tuples/tuple_parts.h"

namespace sortition {

// A reward that must not fall by more than `allowed`.
struct GuardedReward {
  std::string name;
  double allowed = 0;
  // The range that is given, or that in its file, 0 among it. Equal: all of the
  // file are 0, and nothing is known of the range.
  double min = 0;
  double max = 0;
  // Of each of TupleData::test, then of abstained_test; nothing where the
  // outcome is not known (RewardFile::Look).
  std::vector<std::optional<double>> of_test = {};
  std::string period = {};  // OutcomeCoverage::PeriodText

  uint64_t num_judged() const {
    return static_cast<uint64_t>(
        std::count_if(of_test.begin(), of_test.end(),
                      [](const auto& reward) { return reward.has_value(); }));
  }
};

class GuardedTuples {
 public:
  // `rewards` must outlive it.
  explicit GuardedTuples(const GuardedRewards& rewards) : rewards_(rewards) {}

  // Notes that a decision is in the log, whether it is used or not.
  void NoteInLog(absl::string_view decision_id) {
    rewards_.NoteInLog(decision_id, &found_);
  }
  // Errors as GuardedRewards::CheckFound().
  absl::Status CheckFound() const { return rewards_.CheckFound(found_); }

  // Stores the rewards of a decision that is used. A decision whose action was
  // not shown has the reward 0 under every policy, including the logging
  // policy, because the outcome is that of something else.
  void Note(const TuplePlace& place, const log::v1::Decision& decision,
            bool action_shown);
  // Returns the guarded rewards, without those of tuples. Requires that the
  // whole log has been noted.
  std::vector<GuardedReward> Start() const;
  // Adds those of a tuple of the test part. Requires Note().
  void Take(const TuplePlace& place, std::vector<GuardedReward>* guarded) const;

 private:
  const GuardedRewards& rewards_;
  // By the hash of the decision id; empty without guardrails.
  absl::flat_hash_map<double, std::vector<std::optional<double>>> noted_;
  std::vector<OutcomeCoverage> found_;  // By file, of the whole log.
};

}  // namespace sortition
