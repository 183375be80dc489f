#pragma once
// The game of precision at k, |ŷ ∩ y| / k with |ŷ| = k, solved in O(n). It is
// that of ranking_game.h with k discounts of 1/k, solved without sorting.
//
// d is the projection of ψ on the hull: p = k d = min(1, max(0, kψ + τ)), with
// τ such that Σp = k. Newton's method finds τ over the items whose ψ is within
// 1/k of the k-th largest.
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "core/games/ranking/ranking_game.h"

namespace sortition {

// The workspace of the solver: use one per thread. Allocates nothing once warm.
class PrecisionGame {
 public:
  // Does the same as RankingGame::Solve() with Discounts::PrecisionAt(k), but
  // the order has three parts, each sorted by item: items that are surely
  // chosen (p = 1), one block of items chosen at random, and items that are
  // never chosen. Reports only that block, and none if nothing is left to
  // chance. k > n is the same as k = n except for 1/k. InvalidArgument also for
  // k = 0.
  absl::Status Solve(std::span<const double> psi, size_t k,
                     const PositivesBound& positives,
                     RankingEquilibrium* equilibrium);

 private:
  void FindShift(std::span<const double> psi, size_t k);
  void Partition(std::span<const double> psi, size_t k);
  void WritePredictor(size_t k, RankingEquilibrium* equilibrium) const;
  void WriteAdversary(size_t k, const PositivesBound& positives,
                      RankingEquilibrium* equilibrium);

  double threshold_ = 0;  // ψ_(k).
  double shift_ = 0;      // τ of p = k (ψ - threshold_) + τ.
  std::vector<double> near_;
  std::vector<KeyedItem> sure_, chance_, never_;
};

}  // namespace sortition
