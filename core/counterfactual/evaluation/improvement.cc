#include "core/counterfactual/evaluation/improvement.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/counterfactual/evaluation/betting.h"
#include "core/counterfactual/evaluation/group_sums.h"

namespace sortition {
namespace {

// How much a decision of each unit counts, and in which round of the game.
class Units {
 public:
  explicit Units(std::span<const uint64_t> units) {
    for (const uint64_t unit : units) facts_[unit].count += 1;
    most_ = std::max(1.0, std::sqrt(static_cast<double>(facts_.size())) / 2);
    // The order of hashes has nothing to do with what units did.
    std::vector<uint64_t> order;
    for (const auto& [unit, facts] : facts_) order.push_back(unit);
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < order.size(); ++i) {
      facts_[order[i]].round = i % GroupSums::kDefaultGroups;
    }
  }
  size_t num_rounds() const {
    return std::min(facts_.size(), GroupSums::kDefaultGroups);
  }
  size_t RoundOf(uint64_t unit) const { return facts_.at(unit).round; }
  double ShareOf(uint64_t unit) const {
    return std::min(1.0, most_ / facts_.at(unit).count);
  }

 private:
  struct Facts {
    double count = 0;
    size_t round = 0;
  };
  absl::flat_hash_map<uint64_t, Facts> facts_;
  double most_;
};

void Add(double share, double value, BettingRound* round) {
  round->sum += share * value;
  round->count += share;
}

double LowerBound(std::span<const BettingRound> rounds, double failure) {
  constexpr double kLeast = 1;  // Differences of rewards are above -1.
  return BettingLowerBound(rounds, kLeast, failure);
}

}  // namespace

Interval EstimateImprovement(const UnitSample& sample, double confidence) {
  const Units units(sample.units);
  std::vector<BettingRound> gains(units.num_rounds());    // ρ r - r
  std::vector<BettingRound> regrets(units.num_rounds());  // The same of 1 - r.
  Interval improvement;
  double count = 0;
  for (size_t i = 0; i < sample.rewards.size(); ++i) {
    const uint64_t unit = sample.units[i];
    const double share = units.ShareOf(unit);
    const double more = std::expm1(sample.log_weights[i]);  // ρ - 1
    const double reward = sample.rewards[i];
    Add(share, more * reward, &gains[units.RoundOf(unit)]);
    Add(share, more * (1 - reward), &regrets[units.RoundOf(unit)]);
    improvement.value += share * more * reward;
    count += share;
  }
  if (count > 0) improvement.value /= count;
  const double failure = (1 - confidence) / 2;
  improvement.lower = LowerBound(gains, failure);
  improvement.upper = -LowerBound(regrets, failure);
  return improvement;
}

uint64_t NumUnits(std::span<const uint64_t> units) {
  std::vector<uint64_t> sorted(units.begin(), units.end());
  std::sort(sorted.begin(), sorted.end());
  return static_cast<uint64_t>(std::unique(sorted.begin(), sorted.end()) -
                               sorted.begin());
}

}  // namespace sortition
