#pragma once
// A smooth adversary for ranking_game.h: a strongly convex term makes its
// answer unique and Lipschitz in ψ. Optimisers need this for gradients and for
// certificates of their optimum.
#include <span>

#include "absl/status/statusor.h"
#include "core/games/ranking/ranking_game.h"

namespace sortition {

// Returns V_μ = min_q max_d (d - ψ)·q + μ/2 |q|², and writes its minimiser to
// `q`, which has as many items as `psi`. `expected_discounts` is the d that
// solves the game of `psi`. InvalidArgument unless μ is finite and above 0 and
// the bound keeps the rule of PositivesBound.
//
// q falls in the order of ψ and is constant within blocks. So the best d
// against it is that of the equilibrium, whatever μ is, and with v = d - ψ
//   q_i = clip((ν - v_i) / μ, 0, 1).
// Here ν = 0 or, if Σq would then be outside the bound, such that Σq meets it.
// V <= V_μ <= V + μ/2 · (number of positives). -q is the gradient of V_μ with
// respect to ψ, and is 1/μ-Lipschitz.
absl::StatusOr<double> SmoothAdversary(
    std::span<const double> psi, std::span<const double> expected_discounts,
    const PositivesBound& positives, double mu, std::span<double> q);

}  // namespace sortition
