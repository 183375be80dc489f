#pragma once
// NDCG games of binary relevance. Where the normaliser is constant in a query
// (the ideal DCG of known labels), use ranking_game.h with
// Discounts::ScaledBy(). Here the score is normalised by the adversary's own
// labels:
//   Σ_i d_i y_i / Z_|y|,  Z_t = D_1 + .. + D_t,
// and a constant for y = 0. It is not additive in y, but for a fixed size t it
// is: the ranking game of potentials Z_t ψ with t positives, over Z_t, with the
// value V_t and the predictor d_t. So the value is at most min_t V_t, and at
// least what any d guarantees against the best set of every size. If these meet
// for d_t of the smallest V_t (or of another), that is the equilibrium: no
// mixture of sizes helps the adversary. Otherwise the result is an interval.
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "core/games/ranking/ndcg_certificate.h"
#include "core/games/ranking/ndcg_double_oracle.h"
#include "core/games/ranking/ranking_game.h"

namespace sortition {

struct NdcgOptions {
  // The score where nothing is relevant. Unset: the adversary must have a
  // positive item.
  std::optional<double> empty_score = 1;
  // The gap counts as closed where upper - lower is at most this, relative to
  // 1 + |upper|.
  double tolerance = 1e-9;
  // Rounds of the double oracle, where it is needed; each costs O(n²) and a
  // linear program of a few hundred strategies at most. 0: none.
  size_t max_rounds = 200;
};

enum class NdcgStatus {
  kClosed,  // An equilibrium, within the tolerance.
  kGap,     // After max_rounds: the strategies only guarantee lower and upper.
};

struct NdcgEquilibrium {
  NdcgStatus status = NdcgStatus::kGap;
  // What the predictor's and the adversary's strategy guarantee.
  double lower = 0;
  double upper = 0;
  std::vector<double> expected_discounts;  // d, by item.
  std::vector<NdcgSets> adversary;         // Sizes rising, probabilities > 0.
  std::vector<double> positive_probabilities;  // q, by item, over all sizes.
};

// Workspace of the solver: one per thread.
class NdcgGame {
 public:
  // O(n² log n) where one size is the equilibrium. InvalidArgument for n = 0,
  // where the first discount is 0, where a potential times the sum of discounts
  // is not within ±kMaxPotential, or for an option that is not finite or
  // negative.
  absl::Status Solve(std::span<const double> psi, const Discounts& discounts,
                     const NdcgOptions& options, NdcgEquilibrium* equilibrium);

 private:
  struct Size {
    double value;  // V_t.
    size_t num_positives;
  };

  // Solves the ranking game for that size.
  absl::Status SolveSize(std::span<const double> psi,
                         const Discounts& discounts, size_t num_positives);
  // Finds V_t of every size, and sorts sizes by it.
  absl::Status FindValues(std::span<const double> psi,
                          const Discounts& discounts);
  // Mixes sizes until the gap is closed.
  absl::Status Search(std::span<const double> psi, const Discounts& discounts,
                      const NdcgOptions& options, NdcgEquilibrium* equilibrium);

  std::vector<double> normalisers_;  // Z_t, t from 0.
  std::vector<double> scaled_;
  std::vector<Size> sizes_;
  RankingGame game_;
  RankingEquilibrium solved_;
  NdcgDoubleOracle double_oracle_;
};

}  // namespace sortition
