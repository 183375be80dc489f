#pragma once
// Upper bounds of a policy's true risk R(h) = E_h[δ], δ in [-1, 0], that hold
// for every policy of a class at once.
//
// Theorem 3 of [SwaminathanJoachims15]: with probability at least 1 - γ over n
// >= 16 tuples, for all h of a class H,
//   R(h) <= R̂^M(h) + √(18 V Q / n) + 15 M Q / (n - 1),
//   Q = log(10 N / γ),  N = N_∞(1/n, F_H, 2n),
// where R̂^M is the mean and V the sample variance of uᵢ = δᵢ min{M, ρᵢ}, and N
// is the covering number of F_H = {f_h = 1 + u_h / M}, functions into [0, 1].
// The paper prints the last term under the root, where it does not belong: the
// proof has E[s] <= Ψ(s, t) + ε (2 + 8 √(t/n)) with Ψ = mean + √(18 V t / n) +
// 11 t / (n-1), no root around the sum ([MaurerPontil09, Theorem 6]). With ε =
// 1/n, n >= 16 and t = Q > 1: 8 √(t/n) <= 2t, and (2 + 2t)/n <= 4t / (n-1),
// which turns the 11 into 15. Substituting s = 1 + u/M gives M times that for
// u. R <= R^M, since δ <= 0.
//
// Capacities. The class must be fixed before anybody has seen the tuples.
//  - K policies that were made without these tuples: N <= K (log_capacity = log
//    K).
//  - The linear family with ‖w‖ <= W, where the norm of features is at most X
//    and an action fills k ranks: N <= (1 + 4 k X W n)^D, where D is the number
//    of parameters. This holds for any family with ‖∇ log h‖ <= 2 k X. Proof:
//    unclipped terms have ρ δ/M in [-1, 0], so that |∂f / ∂ log h| <= 1. ∇ log
//    h is a sum of k differences between a feature vector and a mean of such,
//    so that |f_w - f_w'| <= 2 k X ‖w - w'‖ everywhere (mixing with the uniform
//    policy only decreases it). A cover of the ball with radius r = 1 / (2 k X
//    n), for which (1 + 2W/r)^D points are enough, is therefore a cover of F_H
//    with radius 1/n. The bound is vacuous (0 or more) until n is many times 15
//    M D log(n).
#include <cstdint>
#include <span>

#include "core/counterfactual/moments.h"

namespace sortition {

// Theorem 3 needs at least this many tuples.
inline constexpr uint64_t kFewestTuplesOfTheorem3 = 16;

// Returns the right side of Theorem 3; infinity if n < 16. `clipped_losses` are
// the moments of u. Requires clip M >= 1, log_capacity = log N >= 0 and
// failure_probability γ in (0, 1).
double CrmGeneralisationBound(const Moments& clipped_losses, double clip,
                              double log_capacity, double failure_probability);

struct ClippedBound {
  double risk = 0;  // Upper bound of the true risk; vacuous if 0 or more.
  double clip = 1;  // M
};

// Returns the lowest right side of Theorem 3 over M = 1, 2, 5, 10, 20, 50, 100.
// It holds although M is chosen on the same tuples: a policy of a class of
// capacity N together with one of 7 values of M belongs to a class of capacity
// 7 N. Requires equal sizes. The risk is infinity if n < 16.
ClippedBound BestCrmBound(std::span<const double> losses,
                          std::span<const double> log_weights,
                          double log_capacity, double failure_probability);

struct LinearFamilyBall {
  uint64_t dimension = 0;   // D, the abstain score included.
  double radius = 0;        // W, bounds ‖α w‖ with the abstain score.
  double feature_norm = 0;  // X; at least 1 if abstaining is an action.
  uint64_t ranks = 1;       // k; 1 for selections.
};

// Returns log N of the ball for n = `num_tuples`, as derived above.
double LinearFamilyLogCapacity(const LinearFamilyBall& ball,
                               uint64_t num_tuples);

// Returns a radius W for parameters with the given norm that were learned from
// the same tuples. A union bound over W = 1, 2, 4, ... makes the choice valid:
// W = 2^j may fail with the share 1 / ((j+1) (j+2)) of γ, and the shares add up
// to 1. The result is the smallest such W >= `norm`, and its share.
struct RadiusShare {
  double radius = 1;
  double share = 0.5;
};
RadiusShare ChooseRadius(double norm);

// Returns the λ of LogSmoothingRisk, from a fixed list, whose bound
// (LogSmoothingBound) would be lowest on `num_evaluation_tuples` tuples like
// these. The tuples given here must not be those of the evaluation. Requires
// equal sizes, not empty.
double ChooseLogSmoothingLambda(std::span<const double> losses,
                                std::span<const double> log_weights,
                                uint64_t num_evaluation_tuples,
                                double failure_probability);

}  // namespace sortition
