#pragma once
// Computes what a strategy of the F-beta game guarantees, without the solver.
// Let W_st = (1+β²) / (s + β² t), and let P_is of the predictor and Q_it of the
// adversary be the unconditional marginals by size. The payoff is
//   p_0 q_0 + Σ P_is W_st Q_it - Σ_it ψ_i Q_it [WangXingAsifZiebart15, 3.3].
// So against P the adversary's best set of size t has the t smallest of f_it =
// Σ_s W_st P_is - ψ_i, and against Q the predictor's best set of size s has the
// s largest of Σ_t W_st Q_it. For any P and Q: lower <= value <= upper.
#include <span>

#include "core/games/sampling/sized_set_marginals.h"

namespace sortition {

// Returns the least payoff that any set of the adversary leaves to `predictor`,
// or a number at most `slack` below it. Sizes are searched by branch and bound,
// so that a little slack saves most of the O(n²) at large n. Requires beta > 0,
// finite potentials [item] and slack >= 0.
double FBetaLowerBound(std::span<const double> potentials, double beta,
                       std::span<const SizedSetMarginals> predictor,
                       double slack = 0);

// Returns the largest payoff of any set of the predictor against `adversary`,
// or a number at most `slack` above it.
double FBetaUpperBound(std::span<const double> potentials, double beta,
                       std::span<const SizedSetMarginals> adversary,
                       double slack = 0);

}  // namespace sortition
