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
#include <string>
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
  Eigen::VectorXd theta;  // By list.
  // Of what the orders alone say of θ, from their curvature at it; infinite
  // where they say nothing. That a ridge shrinks θ is not in it.
  Eigen::VectorXd standard_error;
  double log_likelihood = 0;          // Of all orders.
  double uniform_log_likelihood = 0;  // At θ = 0.
  uint32_t passes = 0;                // Over the orders.
  bool converged = false;
  std::string termination;  // For people.
};

// θ of largest likelihood, concave in θ; by Newton's method, as there are few
// lists, of which only differences within an order count; 0 in directions that
// the orders say nothing of. `increments`: δ(r) for as many ranks as the
// longest order has. `ridge` |θ|²/2 is taken from the log-likelihood: a θ that
// all orders agree with would grow without end. InvalidArgument where there is
// no order, lists differ in number or length, a score is not finite, an order
// is none or has more than 16 items, increments do not fall or are too few, or
// ridge is negative. Deterministic, whatever parallel_for is.
absl::StatusOr<MallowsFit> FitMallows(
    std::span<const ObservedOrder> orders, std::span<const double> increments,
    double ridge, const ParallelFor& parallel_for = SerialFor);

// log p(σ | θ, X) of an order. InvalidArgument as above, and where θ has not an
// entry for each list.
absl::StatusOr<double> MallowsLogProbability(const ObservedOrder& observed,
                                             std::span<const double> increments,
                                             const Eigen::VectorXd& theta);

}  // namespace sortition
