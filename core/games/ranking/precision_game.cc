#include "core/games/ranking/precision_game.h"

#include <algorithm>
#include <functional>

#include "core/base/status_macros.h"
#include "core/games/ranking/clipped_sum.h"

namespace sortition {

// Uses x = k (ψ - ψ_(k)), relative to the k-th largest, so that a small τ is
// never added to a large ψ. Σ clip(x + τ, 0, 1) is at most k at τ = 0 and at
// least k at τ = 1, and only the x within ±1 can be unclipped for such τ.
void PrecisionGame::FindShift(std::span<const double> psi, size_t k) {
  near_.assign(psi.begin(), psi.end());
  const auto kth = near_.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(near_.begin(), kth, near_.end(), std::greater<>());
  threshold_ = *kth;
  near_.clear();
  const auto scale = static_cast<double>(k);
  double left = scale;
  for (const double value : psi) {
    const double x = scale * (value - threshold_);
    if (x >= 1) {
      --left;
    } else if (x > -1) {
      near_.push_back(x);
    }
  }
  const double tolerance = 1e-16 * static_cast<double>(near_.size());
  shift_ = SolveClippedSum({0, 1, 0.5, left, tolerance}, [this](double t) {
    ClippedSum sum{0, 0};
    for (const double x : near_) {
      const double p = x + t;
      sum.value += std::clamp(p, 0.0, 1.0);
      sum.slope += p > 0 && p < 1 ? 1 : 0;
    }
    return sum;
  });
}

void PrecisionGame::Partition(std::span<const double> psi, size_t k) {
  sure_.clear();
  chance_.clear();
  never_.clear();
  const auto scale = static_cast<double>(k);
  double left = scale;
  for (size_t i = 0; i < psi.size(); ++i) {
    const KeyedItem item{psi[i], static_cast<int32_t>(i)};
    const double p = scale * (psi[i] - threshold_) + shift_;
    if (p >= 1 || k >= psi.size()) {
      sure_.push_back(item);
      --left;
    } else if (p > 0) {
      chance_.push_back(item);
      left -= scale * (psi[i] - threshold_);
    } else {
      never_.push_back(item);
    }
  }
  // Computes the exact root of the piece on which the search ended.
  if (!chance_.empty()) shift_ = left / static_cast<double>(chance_.size());
}

void PrecisionGame::WritePredictor(size_t k,
                                   RankingEquilibrium* equilibrium) const {
  const auto scale = static_cast<double>(k);
  const size_t n = sure_.size() + chance_.size() + never_.size();
  std::vector<double>& d = equilibrium->expected_discounts;
  d.assign(n, 0);
  equilibrium->order.clear();
  for (const KeyedItem& item : sure_) {
    d[item.item] = 1 / scale;
    equilibrium->order.push_back(item.item);
  }
  for (const KeyedItem& item : chance_) {
    const double p = scale * (item.psi - threshold_) + shift_;
    d[item.item] = std::clamp(p, 0.0, 1.0) / scale;
    equilibrium->order.push_back(item.item);
  }
  for (const KeyedItem& item : never_) equilibrium->order.push_back(item.item);
  equilibrium->blocks.clear();
  if (chance_.empty()) return;
  const auto sure = static_cast<double>(sure_.size());
  equilibrium->blocks.push_back(
      {.start = static_cast<int32_t>(sure_.size()),
       .length = static_cast<int32_t>(chance_.size()),
       .mean_discount =
           (scale - sure) / (scale * static_cast<double>(chance_.size())),
       .excess = shift_ / scale - threshold_});
}

// As in RankingGame, v is 1/k - ψ for items that are surely chosen, -ψ for
// those that are never chosen, and in between for the block.
void PrecisionGame::WriteAdversary(size_t k, const PositivesBound& positives,
                                   RankingEquilibrium* equilibrium) {
  const double discount = 1 / static_cast<double>(k);
  const double excess = shift_ * discount - threshold_;
  const auto count_above = [](std::span<const KeyedItem> items, double psi) {
    double count = 0;
    for (const KeyedItem& item : items) count += item.psi > psi ? 1 : 0;
    return count;
  };
  const auto num_sure = static_cast<double>(sure_.size());
  const auto num_chance = static_cast<double>(chance_.size());
  const auto num_never = static_cast<double>(never_.size());
  double num_negative = count_above(sure_, discount);
  if (num_negative == num_sure && (excess < 0 || chance_.empty())) {
    num_negative += num_chance + count_above(never_, 0);
  }
  std::vector<double>& q = equilibrium->positive_probabilities;
  q.resize(sure_.size() + chance_.size() + never_.size());
  const double total =
      std::clamp(num_negative, positives.fewest,
                 std::min(positives.most, static_cast<double>(q.size())));
  const double of_sure = std::min(total, num_sure);
  const double of_chance = std::min(total - of_sure, num_chance);
  const double of_never = std::min(total - of_sure - of_chance, num_never);
  equilibrium->value =
      of_sure * discount - ShareAmongLargest(sure_, of_sure, q);
  for (const KeyedItem& item : chance_) q[item.item] = of_chance / num_chance;
  if (of_chance > 0) equilibrium->value += excess * of_chance;
  equilibrium->value -= ShareAmongLargest(never_, of_never, q);
}

absl::Status PrecisionGame::Solve(std::span<const double> psi, size_t k,
                                  const PositivesBound& positives,
                                  RankingEquilibrium* equilibrium) {
  RETURN_IF_ERROR(CheckPotentials(psi));
  RETURN_IF_ERROR(CheckPositives(positives, psi.size()));
  if (k == 0) {
    return absl::InvalidArgumentError("k is 0, must be at least 1");
  }
  threshold_ = 0;
  shift_ = 0;
  if (k < psi.size()) FindShift(psi, k);
  Partition(psi, k);
  WritePredictor(k, equilibrium);
  WriteAdversary(k, positives, equilibrium);
  return absl::OkStatus();
}

}  // namespace sortition
