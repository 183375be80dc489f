#pragma once
// Lovász-Mallows models [IyerBilmes13, sec. 3]: the probability of an order
// falls with its distance from given score lists, measured by the
// Lovász-Bregman divergence of a function of cardinality with increments δ.
//
// The distribution given score lists x_i (eq. 21, and eq. 26 if the x_i are
// features) is
//   p(σ | θ, X) ∝ exp(-Σ_i θ_i d(x_i‖σ)) ∝ exp(Σ_r δ(r) s_σ(r)),
//   s = Σ_i θ_i x_i,
// which is the distribution of core/policies/distributions/boltzmann_orders.h.
// Except for the term f̂(x_i), which does not depend on σ, d is linear in x_i;
// so the distribution depends on the lists only through their weighted sum s.
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

// An observed order of up to 16 items, and the score lists that it depends on.
struct ObservedOrder {
  ScoreMatrix lists;  // One list per row.
  Order order;        // Has all items.
};

struct MallowsFit {
  Eigen::VectorXd theta;  // One entry for each list.
  // Standard errors from the curvature of the log-likelihood of the orders at
  // θ, without the ridge; infinite where the orders do not determine θ. The
  // bias that a ridge causes is not included.
  Eigen::VectorXd standard_error;
  double log_likelihood = 0;          // Sum over all orders.
  double uniform_log_likelihood = 0;  // The same at θ = 0.
  uint32_t passes = 0;                // Number of passes over the orders.
  bool converged = false;
  std::string termination;  // Explanation for people.
};

// Returns the θ that maximises the log-likelihood, which is concave in θ, minus
// `ridge` |θ|²/2. Without a ridge, θ grows without limit if all orders agree
// with it. Uses Newton's method, since there are few lists. Only the
// differences of a list's scores within an order matter; θ is 0 in directions
// that the orders do not determine. `increments` has δ(r) for at least as many
// ranks as the longest order. InvalidArgument if there is no order; if orders
// differ in their number of lists; if a score is not finite; if an order is not
// a permutation of its items or has more than 16; if increments are too few or
// increase; or if ridge is negative. The result does not depend on
// parallel_for.
absl::StatusOr<MallowsFit> FitMallows(
    std::span<const ObservedOrder> orders, std::span<const double> increments,
    double ridge, const ParallelFor& parallel_for = SerialFor);

// Returns log p(σ | θ, X) of an observed order. InvalidArgument for the reasons
// of FitMallows(), and if θ does not have one entry for each list.
absl::StatusOr<double> MallowsLogProbability(const ObservedOrder& observed,
                                             std::span<const double> increments,
                                             const Eigen::VectorXd& theta);

}  // namespace sortition
