#pragma once
// NDCG games of binary relevance. Where the normaliser is constant in a query
// (the ideal DCG of known labels), this is ranking_game.h with
// Discounts::ScaledBy(). Here the adversary's own labels normalise: score
//   Σ_i d_i y_i / Z_|y|,  Z_t = D_1 + .. + D_t,
// and a constant for y = 0. Not additive in y: a game for every size t.
//
// With t fixed it is the ranking game of potentials Z_t ψ with t positives over
// Z_t: value V_t, predictor d_t. So the value is at most min_t V_t, and at
// least what any d guarantees against the best set of every size. If these meet
// for d_t of the smallest V_t (or of another), that is the equilibrium: no
// mixture of sizes helps the adversary. Else the result is an interval.
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "core/games/ranking_game.h"

namespace sortition {

struct NdcgOptions {
  // The score where nothing is relevant; none: the adversary must have a
  // positive.
  std::optional<double> empty_score = 1;
  // upper - lower up to this, relative to 1 + |upper|, closes the gap.
  double tolerance = 1e-9;
  // How many of the d_t are tried, from the smallest V_t on; each O(n²).
  size_t max_candidates = 8;
};

enum class NdcgStatus {
  kClosed,  // An equilibrium, within the tolerance.
  kGap,     // lower and upper are right, the strategies guarantee no more.
};

struct NdcgEquilibrium {
  NdcgStatus status = NdcgStatus::kGap;
  // Guaranteed by the predictor's and by the adversary's strategy.
  double lower = 0;
  double upper = 0;
  std::vector<double> expected_discounts;  // d, by item.
  size_t num_positives = 0;                // Of every set of the adversary's.
  std::vector<double> positive_probabilities;  // q, by item.
};

// Workspace of the solver: one per thread.
class NdcgGame {
 public:
  // O(n² log n). InvalidArgument for n = 0, where the first discount is 0,
  // where a potential times the sum of discounts is not within ±kMaxPotential,
  // or for an option that is not finite or negative.
  absl::Status Solve(std::span<const double> psi, const Discounts& discounts,
                     const NdcgOptions& options, NdcgEquilibrium* equilibrium);

 private:
  struct Size {
    double value;  // V_t.
    size_t num_positives;
  };

  // The ranking game of that size; its value over Z_t.
  absl::Status SolveSize(std::span<const double> psi,
                         const Discounts& discounts, size_t num_positives);

  std::vector<double> normalisers_;  // Z_t, t from 0.
  std::vector<double> scaled_;
  std::vector<Size> sizes_;
  RankingGame game_;
  RankingEquilibrium solved_;
};

}  // namespace sortition
