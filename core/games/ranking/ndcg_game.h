#pragma once
// NDCG games of binary relevance. If the normaliser is constant in a query (the
// ideal DCG of known labels), use ranking_game.h with Discounts::ScaledBy().
// Here the score is normalised by the adversary's own labels,
//   Σ_i d_i y_i / Z_|y|,  Z_t = D_1 + .. + D_t,
// and has a constant value for y = 0. It is not additive in y, but for a fixed
// size t it is: the ranking game of potentials Z_t ψ with t positives, divided
// by Z_t, which has the value V_t and the predictor d_t. So the value is at
// most min_t V_t, and at least what any d guarantees against the best set of
// every size. If these meet for d_t of the smallest V_t (or of another), that
// is the equilibrium: no mixture of sizes helps the adversary. Otherwise the
// result is an interval.
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
  // The score if nothing is relevant. Unset: the adversary must have a positive
  // item.
  std::optional<double> empty_score = 1;
  // The gap counts as closed if upper - lower is at most this, relative to 1 +
  // |upper|.
  double tolerance = 1e-9;
  // Maximum number of rounds of the double oracle, if it is needed. Each costs
  // O(n²) and a linear program of at most a few hundred strategies. 0: none.
  size_t max_rounds = 200;
};

enum class NdcgStatus {
  kClosed,  // An equilibrium, within the tolerance.
  kGap,     // After max_rounds, lower and upper are all that is guaranteed.
};

struct NdcgEquilibrium {
  NdcgStatus status = NdcgStatus::kGap;
  // What the strategies of predictor and adversary guarantee.
  double lower = 0;
  double upper = 0;
  std::vector<double> expected_discounts;  // d, by item.
  std::vector<NdcgSets> adversary;         // By rising size; probabilities > 0.
  std::vector<double> positive_probabilities;  // q, by item, over all sizes.
};

// The workspace of the solver: use one per thread.
class NdcgGame {
 public:
  // Costs O(n² log n) if one size is the equilibrium. InvalidArgument if n = 0,
  // the first discount is 0, a potential times the sum of discounts is not
  // within ±kMaxPotential, or an option is not finite or is negative.
  absl::Status Solve(std::span<const double> psi, const Discounts& discounts,
                     const NdcgOptions& options, NdcgEquilibrium* equilibrium);

 private:
  struct Size {
    double value;  // V_t.
    size_t num_positives;
  };

  // Solves the ranking game for one size.
  absl::Status SolveSize(std::span<const double> psi,
                         const Discounts& discounts, size_t num_positives);
  // Finds V_t of every size t, and sorts sizes by it.
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
