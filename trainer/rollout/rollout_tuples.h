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
#include "trainer/rollout/rollout_sources.h"

namespace sortition {

// The decisions of a log that count, to be brought in order. The order does not
// depend on that of the log, so two readings register the same rounds.
class DecisionsInTime {
 public:
  // `id`: hash of the decision id; `keep_number`: KeepNumber() of the decision.
  void Add(const ArmDecision& decision, uint64_t id, double keep_number,
           const std::vector<double>& outcomes) {
    decisions_.push_back({decision, id, keep_number, outcomes_.size()});
    outcomes_.insert(outcomes_.end(), outcomes.begin(), outcomes.end());
  }

  // Calls `take` for the decisions up to `until_us` that are kept with this
  // probability, and returns the number of later ones.
  template <typename Take>
  uint64_t Give(size_t num_outcomes, int64_t until_us, double keep_probability,
                const Take& take) {
    uint64_t num_later = 0;
    std::sort(decisions_.begin(), decisions_.end(),
              [](const Placed& a, const Placed& b) {
                return std::pair(a.decision.time_us, a.id) <
                       std::pair(b.decision.time_us, b.id);
              });
    for (const Placed& placed : decisions_) {
      if (placed.keep_number >= keep_probability) continue;
      if (placed.decision.time_us > until_us) {
        ++num_later;
        continue;
      }
      take(placed.decision, std::span<const double>(outcomes_).subspan(
                                placed.first, num_outcomes));
    }
    return num_later;
  }

 private:
  struct Placed {
    ArmDecision decision;
    uint64_t id = 0;
    double keep_number = 0;
    size_t first = 0;  // Of its outcomes.
  };
  std::vector<Placed> decisions_;
  std::vector<double> outcomes_;
};

struct RolloutTuples {
  DecisionsInTime decisions;
  std::vector<ReadSegment> segments;
  ReadUntil until;
  // By outcome: it is complete for decisions up to this time; nothing: it
  // cannot be judged.
  std::vector<std::optional<int64_t>> complete_until_us;
  // The smallest with which a decision of the rollout was kept.
  double keep_probability = 1;
  // Time of the last feedback for decisions that the log lacks; 0: none.
  int64_t incomplete_until_us = 0;
  // Decisions that do not count because they are far in the future.
  uint64_t future_decisions = 0;
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
