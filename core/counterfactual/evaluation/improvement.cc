#include "core/counterfactual/evaluation/improvement.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/counterfactual/evaluation/betting.h"
#include "core/counterfactual/evaluation/group_sums.h"

namespace sortition {
namespace {

// Sums of each group that has decisions.
class Rounds {
 public:
  void Add(uint64_t unit, double share, double value) {
    BettingRound& round = rounds_[unit % rounds_.size()];
    round.sum += share * value;
    round.count += share;
  }
  double LowerBound(double failure_probability) {
    std::erase_if(rounds_,
                  [](const BettingRound& round) { return round.count == 0; });
    constexpr double kLeast = 1;  // Differences of rewards are above -1.
    return BettingLowerBound(rounds_, kLeast, failure_probability);
  }

 private:
  std::vector<BettingRound> rounds_ =
      std::vector<BettingRound>(GroupSums::kDefaultGroups);
};

// How much a decision of each unit counts.
class Shares {
 public:
  explicit Shares(std::span<const uint64_t> units) {
    for (const uint64_t unit : units) counts_[unit] += 1;
    most_ = std::max(1.0, std::sqrt(static_cast<double>(counts_.size())) / 2);
  }
  double Of(uint64_t unit) const {
    return std::min(1.0, most_ / counts_.at(unit));
  }

 private:
  absl::flat_hash_map<uint64_t, double> counts_;
  double most_;
};

}  // namespace

Interval EstimateImprovement(const UnitSample& sample, double confidence) {
  const Shares shares(sample.units);
  Rounds gains;    // ρ r - r
  Rounds regrets;  // ρ (1 - r) - (1 - r)
  Interval improvement;
  double count = 0;
  for (size_t i = 0; i < sample.rewards.size(); ++i) {
    const double share = shares.Of(sample.units[i]);
    const double more = std::expm1(sample.log_weights[i]);  // ρ - 1
    const double reward = sample.rewards[i];
    gains.Add(sample.units[i], share, more * reward);
    regrets.Add(sample.units[i], share, more * (1 - reward));
    improvement.value += share * more * reward;
    count += share;
  }
  if (count > 0) improvement.value /= count;
  const double failure = (1 - confidence) / 2;
  improvement.lower = gains.LowerBound(failure);
  improvement.upper = -regrets.LowerBound(failure);
  return improvement;
}

uint64_t NumUnits(std::span<const uint64_t> units) {
  std::vector<uint64_t> sorted(units.begin(), units.end());
  std::sort(sorted.begin(), sorted.end());
  return static_cast<uint64_t>(std::unique(sorted.begin(), sorted.end()) -
                               sorted.begin());
}

}  // namespace sortition
