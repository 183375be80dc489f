#pragma once
// Lovász-Mallows models [IyerBilmes13, sec. 3]: orders, or scores, that are the
// less probable the further they are from the others by a Lovász-Bregman
// divergence of a function of cardinality, with increments δ.
//
// Conditional on score lists x_i (eq. 21, and 26 as features):
//   p(σ | θ, X) ∝ exp(-Σ_i θ_i d(x_i‖σ)) ∝ exp(Σ_r δ(r) s_σ(r)), s = Σ_i θ_i
//   x_i:
// the orders of core/policies/boltzmann_orders.h. d without f̂(x_i) is linear in
// x_i, so all that the lists say is in their sum.
#include <cstdint>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/aggregation/cluster.h"
#include "core/aggregation/submodular_function.h"
#include "core/base/parallel.h"

namespace sortition {

// An order that was seen, of up to 16 items, and the lists it came about from.
struct ObservedOrder {
  ScoreMatrix lists;  // A list per row.
  Order order;        // Of all items.
};

struct MallowsFit {
  Eigen::VectorXd theta;              // By list.
  Eigen::VectorXd standard_error;     // From the curvature at θ.
  double log_likelihood = 0;          // Of all orders.
  double uniform_log_likelihood = 0;  // At θ = 0.
  uint32_t passes = 0;                // Over the orders.
  bool converged = false;
};

// θ of largest likelihood, concave in θ; by Newton's method, as there are few
// lists. `increments`: δ(r) for as many ranks as the longest order has.
// `ridge` |θ|²/2 is taken from the log-likelihood: a θ that all orders agree
// with would grow without end. InvalidArgument where there is no order, lists
// differ in number or length, a score is not finite, an order is none or has
// more than 16 items, increments do not fall or are too few, or ridge is
// negative. Deterministic, whatever parallel_for is.
absl::StatusOr<MallowsFit> FitMallows(
    std::span<const ObservedOrder> orders, std::span<const double> increments,
    double ridge, const ParallelFor& parallel_for = SerialFor);

// log p(σ | θ, X) of an order. InvalidArgument as above, and where θ has not an
// entry for each list.
absl::StatusOr<double> MallowsLogProbability(const ObservedOrder& observed,
                                             std::span<const double> increments,
                                             const Eigen::VectorXd& theta);

// An estimate and its standard error; 0: exact up to rounding.
struct Normaliser {
  double value = 0;
  double standard_error = 0;
};

// Z(θ) of p(x | θ, σ) = exp(-θ d(x‖σ)) / Z(θ), scores x in [0, 1]^n (eq. 20);
// it is the same for all σ. Exact for n <= 7: where x has the order π, d is
// linear, x a mixture of the corners 1_{S_j} of a simplex, so that the integral
// is the divided difference of exp at -θ d(1_{S_j}‖σ) [Hermite and Genocchi],
// summed over all π. Otherwise from `samples` uniform x. InvalidArgument where
// θ is negative or not finite, there is no item, or no sample and n > 7.
absl::StatusOr<Normaliser> ScoreNormaliser(const CardinalityFunction& f,
                                           double theta, uint64_t samples,
                                           uint64_t seed);

// exp[t_0, .., t_n], the divided difference: of rising order, symmetric, equal
// nodes allowed. Relative error near n ulp.
double ExpDividedDifference(std::span<const double> nodes);

}  // namespace sortition
