#pragma once
// The decisions of a rollout that are in the tuples.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/counterfactual/sequential/unit_rounds.h"
#include "sortition/config/v1/rollout.pb.h"
#include "sortition/model/v1/rollout.pb.h"
#include "trainer/rollout/rollout_evidence.h"

namespace sortition {

// The decisions of a log that count, to be brought in order. The order does not
// depend on that of the log, so two readings register the same rounds.
class DecisionsInTime {
 public:
  void Add(const ArmDecision& decision, uint64_t id,
           const std::vector<double>& outcomes) {
    decisions_.push_back({decision, id, outcomes_.size()});
    outcomes_.insert(outcomes_.end(), outcomes.begin(), outcomes.end());
  }

  template <typename Take>
  void Give(size_t num_outcomes, const Take& take) {
    std::sort(decisions_.begin(), decisions_.end(),
              [](const Placed& a, const Placed& b) {
                return std::pair(a.decision.time_us, a.id) <
                       std::pair(b.decision.time_us, b.id);
              });
    for (const Placed& placed : decisions_) {
      take(placed.decision, std::span<const double>(outcomes_).subspan(
                                placed.first, num_outcomes));
    }
  }

 private:
  struct Placed {
    ArmDecision decision;
    uint64_t id = 0;   // Hash of the decision id.
    size_t first = 0;  // Of its outcomes.
  };
  std::vector<Placed> decisions_;
  std::vector<double> outcomes_;
};

struct RolloutTuples {
  DecisionsInTime decisions;
  int64_t newest_us = 0;  // Of the model's decisions.
  // By outcome: it is complete for decisions up to this time; nothing: it
  // cannot be judged.
  std::vector<std::optional<int64_t>> complete_until_us;
  // Rewards outside of the range of the plan.
  uint64_t rewards_outside = 0;
  std::vector<std::string> problems;  // Why outcomes cannot be judged.
};

// Reads the decisions of the rollout. Errors as TupleLog::Open() and
// ScanTuples().
absl::StatusOr<RolloutTuples> ReadRolloutTuples(
    const config::v1::RolloutOptions& options,
    const model::v1::Rollout& rollout, const RolloutEvidence& evidence,
    int64_t now_us);

}  // namespace sortition
