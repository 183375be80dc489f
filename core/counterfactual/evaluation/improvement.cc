#include "core/counterfactual/evaluation/improvement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/counterfactual/evaluation/betting.h"

namespace sortition {
namespace {

// How much a decision of each unit counts, and its round of the game.
class Units {
 public:
  explicit Units(const UnitSample& sample) {
    for (const uint64_t unit : sample.units) facts_[unit].count += 1;
    const double limit = std::sqrt(static_cast<double>(facts_.size())) / 2;
    most_ = std::max(1.0, std::min(sample.largest_unit, limit));
    // The order of hashes has nothing to do with what units did.
    std::vector<uint64_t> order;
    for (const auto& [unit, facts] : facts_) order.push_back(unit);
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < order.size(); ++i) facts_[order[i]].round = i;
  }
  size_t size() const { return facts_.size(); }
  double most() const { return most_; }  // That a unit counts.
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

}  // namespace

Interval EstimateImprovement(const UnitSample& sample, double confidence) {
  const Units units(sample);
  // ρ r - r, and the same of 1 - r, if there is no other policy.
  std::vector<BettingRound> gains(units.size());
  std::vector<BettingRound> regrets(units.size());
  Interval improvement;
  double count = 0;
  for (size_t i = 0; i < sample.rewards.size(); ++i) {
    const uint64_t unit = sample.units[i];
    const double share = units.ShareOf(unit);
    const double more = std::expm1(sample.log_weights[i]);  // ρ - 1
    const double other = sample.other_log_weights.empty()
                             ? 0
                             : std::expm1(sample.other_log_weights[i]);
    const double reward = sample.rewards[i];
    const size_t round = units.RoundOf(unit);
    Add(share, more * reward + other * (1 - reward), &gains[round]);
    Add(share, other * reward + more * (1 - reward), &regrets[round]);
    improvement.value += share * (more - other) * reward;
    count += share;
  }
  if (count > 0) improvement.value /= count;
  const auto lower_bound = [&](std::span<const BettingRound> rounds) {
    constexpr double kLeast = 1;  // Differences of rewards are above -1.
    return BettingLowerBound({rounds, kLeast, units.most()},
                             (1 - confidence) / 2);
  };
  improvement.lower = lower_bound(gains);
  improvement.upper = -lower_bound(regrets);
  return improvement;
}

double ImprovementError(const UnitSample& sample) {
  const Units units(sample);
  if (units.size() < 2) return std::numeric_limits<double>::infinity();
  std::vector<BettingRound> gains(units.size());
  double sum = 0;
  double count = 0;
  for (size_t i = 0; i < sample.rewards.size(); ++i) {
    const double share = units.ShareOf(sample.units[i]);
    const double gain = std::expm1(sample.log_weights[i]) * sample.rewards[i];
    Add(share, gain, &gains[units.RoundOf(sample.units[i])]);
    sum += share * gain;
    count += share;
  }
  double squares = 0;
  for (const BettingRound& round : gains) {
    const double residual = round.sum - sum / count * round.count;
    squares += residual * residual;
  }
  return std::sqrt(squares) / count;
}

uint64_t LargestUnit(std::span<const uint64_t> units) {
  absl::flat_hash_map<uint64_t, uint64_t> counts;
  uint64_t largest = 0;
  for (const uint64_t unit : units) largest = std::max(largest, ++counts[unit]);
  return largest;
}

uint64_t NumUnits(std::span<const uint64_t> units) {
  std::vector<uint64_t> sorted(units.begin(), units.end());
  std::sort(sorted.begin(), sorted.end());
  return static_cast<uint64_t>(std::unique(sorted.begin(), sorted.end()) -
                               sorted.begin());
}

}  // namespace sortition
