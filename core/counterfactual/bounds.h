#pragma once
// Upper bounds of a policy's true risk R(h) = E_h[δ], δ in [-1, 0], that hold
// for every policy of a class at once.
//
// Theorem 3 of [SwaminathanJoachims15]: with probability at least 1 - γ over n
// >= 16 tuples, for all h of a class H,
//   R(h) <= R̂^M(h) + √(18 V Q / n) + 15 M Q / (n - 1),
//   Q = log(10 N / γ),  N = N_∞(1/n, F_H, 2n),
// with R̂^M the mean and V the sample variance of uᵢ = δᵢ min{M, ρᵢ}, and N the
// covering number of F_H = {f_h = 1 + u_h / M}, functions into [0, 1].
// As printed the last term stands under the root. It does not belong there: the
// proof has E[s] <= Ψ(s, t) + ε (2 + 8 √(t/n)) with Ψ = mean + √(18 V t / n) +
// 11 t / (n-1), no root around the sum ([MaurerPontil09, Theorem 6]). With
// ε = 1/n, n >= 16 and t = Q > 1: 8 √(t/n) <= 2t, and (2 + 2t)/n <= 4t / (n-1),
// which makes 15 of 11. s = 1 + u/M gives M times that for u. R <= R^M, since
// δ <= 0.
//
// Capacities. The class must be fixed before the tuples are seen.
//  - K policies, made without these tuples: N <= K (log_capacity = log K).
//  - The linear family with ‖w‖ <= W, where features are no longer than X and
//    an action fills k ranks: N <= (1 + 4 k X W n)^D, D the number of
//    parameters; of any family in which ‖∇ log h‖ <= 2 k X.
//    By ρ δ/M in [-1, 0] where unclipped, |∂f / ∂ log h| <= 1; ∇ log h is a sum
//    of k differences of a feature vector and a mean of them, so that
//    |f_w - f_w'| <= 2 k X ‖w - w'‖ everywhere (mixing with uniform only
//    lessens it). A cover of the ball by r = 1 / (2 k X n), which (1 + 2W/r)^D
//    points give, is a cover of F_H by 1/n. It is vacuous (a bound of 0 or more
//    says nothing) until n is many times 15 M D log(n).
#include <cstdint>
#include <span>

#include "core/counterfactual/moments.h"

namespace sortition {

// Below this Theorem 3 says nothing.
inline constexpr uint64_t kFewestTuplesOfTheorem3 = 16;

// The right side of Theorem 3; infinite where n < 16. `clipped_losses`: moments
// of u. Requires clip M >= 1, log_capacity = log N >= 0, failure_probability γ
// in (0, 1).
double CrmGeneralisationBound(const Moments& clipped_losses, double clip,
                              double log_capacity, double failure_probability);

struct ClippedBound {
  double risk = 0;  // At least the policy's true risk; 0 or more says nothing.
  double clip = 1;  // M
};

// The lowest right side of Theorem 3 for M = 1, 2, 5, 10, 20, 50, 100, for all
// of them at once: a policy of a class of capacity N together with a choice of
// M is one of a class of capacity 7 N, so that M may be chosen on the same
// tuples. Requires equal sizes; infinite where n < 16.
ClippedBound BestCrmBound(std::span<const double> losses,
                          std::span<const double> log_weights,
                          double log_capacity, double failure_probability);

struct LinearFamilyBall {
  uint64_t dimension = 0;   // D, the abstain score included.
  double radius = 0;        // W; of α w, abstain score included.
  double feature_norm = 0;  // X; at least 1 where abstaining is an action.
  uint64_t ranks = 1;       // k; 1 for selections.
};

// log N of the ball for n = `num_tuples`, as derived above.
double LinearFamilyLogCapacity(const LinearFamilyBall& ball,
                               uint64_t num_tuples);

// A radius for a w that was learned from the same tuples, by a union bound over
// W = 1, 2, 4, ...: the smallest that holds `norm`, and the share of γ that it
// gets, 1 / ((j+1) (j+2)) for W = 2^j; the shares add up to 1.
struct RadiusShare {
  double radius = 1;
  double share = 0.5;
};
RadiusShare ChooseRadius(double norm);

// The λ of LogSmoothingRisk, of a fixed list, whose bound (LogSmoothingBound)
// would be lowest on `num_evaluation_tuples` tuples like these. To be chosen on
// other tuples than those evaluated. Requires equal sizes, not empty.
double ChooseLogSmoothingLambda(std::span<const double> losses,
                                std::span<const double> log_weights,
                                uint64_t num_evaluation_tuples,
                                double failure_probability);

}  // namespace sortition
