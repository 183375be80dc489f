#pragma once
// Bounds on the value of a ranking game from strategies alone: what each
// guarantees against the best answer, which is found by sorting. Shares no code
// with the solvers. lower <= value <= upper for all feasible strategies. If the
// bounds are equal, the strategies are an equilibrium.
#include <span>

#include "core/games/ranking/discounts.h"
#include "core/games/ranking/ranking_game.h"

namespace sortition {

struct RankingCertificate {
  double lower = 0;
  double upper = 0;
  // How far the strategies are from being feasible: the largest violation of a
  // sum over items. 0 except for rounding errors.
  double predictor_violation = 0;
  double adversary_violation = 0;
};

// Returns min_q (d - ψ)·q over the q within the bound as `lower`, and max_d d·q
// - ψ·q over Perm(D) as `upper`. Requires d (expected discounts) and q
// (positive probabilities) by item, as many as ψ.
RankingCertificate CertifyRanking(std::span<const double> psi,
                                  const Discounts& discounts,
                                  const PositivesBound& positives,
                                  std::span<const double> expected_discounts,
                                  std::span<const double> q);

// Does the same for graded_game.h. psi and level_probabilities are n × K, row
// by item; gains has K levels.
RankingCertificate CertifyGradedRanking(
    std::span<const double> psi, std::span<const double> gains,
    const Discounts& discounts, std::span<const double> expected_discounts,
    std::span<const double> level_probabilities);

// Returns how far d is outside Perm(D), the hull of the orders' discounts: the
// largest excess of a sum of j items over the first j discounts, or the
// difference of the total sums.
double HullViolation(const Discounts& discounts,
                     std::span<const double> expected_discounts);

// Returns the largest Σ D_rank(i) values_i over all orders.
double BestOrderScore(const Discounts& discounts,
                      std::span<const double> values);

}  // namespace sortition
