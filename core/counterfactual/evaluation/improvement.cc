#include "core/counterfactual/evaluation/improvement.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/counterfactual/evaluation/betting.h"
#include "core/counterfactual/evaluation/group_sums.h"

namespace sortition {
namespace {

// Sums of each group that has decisions.
class Rounds {
 public:
  void Add(uint64_t unit, double sum) {
    BettingRound& round = rounds_[unit % rounds_.size()];
    round.sum += sum;
    round.count += 1;
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

}  // namespace

Interval EstimateImprovement(const UnitSample& sample, double confidence) {
  Rounds gains;    // ρ r - r
  Rounds regrets;  // ρ (1 - r) - (1 - r)
  Interval improvement;
  for (size_t i = 0; i < sample.rewards.size(); ++i) {
    const double more = std::expm1(sample.log_weights[i]);  // ρ - 1
    const double reward = sample.rewards[i];
    gains.Add(sample.units[i], more * reward);
    regrets.Add(sample.units[i], more * (1 - reward));
    improvement.value += more * reward;
  }
  if (!sample.rewards.empty()) {
    improvement.value /= static_cast<double>(sample.rewards.size());
  }
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
