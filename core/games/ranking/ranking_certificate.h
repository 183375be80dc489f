#pragma once
// Bounds on the value of a ranking game, from strategies alone: what each
// guarantees against the best answer, found by sorting. Shares no code with the
// solvers. lower <= value <= upper for any strategies that are feasible; equal
// ones prove an equilibrium.
#include <span>

#include "core/games/ranking/discounts.h"
#include "core/games/ranking/ranking_game.h"

namespace sortition {

struct RankingCertificate {
  double lower = 0;
  double upper = 0;
  // How far the strategies are from feasible: the largest violation of a sum
  // over items. 0, or some roundings.
  double predictor_violation = 0;
  double adversary_violation = 0;
};

// min_q (d - ψ)·q over q within the bound; max_d d·q - ψ·q over Perm(D).
// Requires d (expected discounts) and q (positive probabilities) by item, as
// many as ψ.
RankingCertificate CertifyRanking(std::span<const double> psi,
                                  const Discounts& discounts,
                                  const PositivesBound& positives,
                                  std::span<const double> expected_discounts,
                                  std::span<const double> q);

// For graded_game.h: psi and level_probabilities are n × K, row by item; gains
// of K levels.
RankingCertificate CertifyGradedRanking(
    std::span<const double> psi, std::span<const double> gains,
    const Discounts& discounts, std::span<const double> expected_discounts,
    std::span<const double> level_probabilities);

// How far d is outside the hull of the orders' discounts, Perm(D): the largest
// excess of j items' sum over the first j discounts, or the sums' difference.
double HullViolation(const Discounts& discounts,
                     std::span<const double> expected_discounts);

// Largest Σ D_rank(i) values_i over all orders.
double BestOrderScore(const Discounts& discounts,
                      std::span<const double> values);

}  // namespace sortition
