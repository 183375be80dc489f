#pragma once
// What counterfactual learning sees of a policy: the probability that it gives
// to each logged action, as a function of its parameters.
#include <cstddef>

#include "Eigen/Core"
#include "absl/functional/function_ref.h"

namespace sortition {

// A parametric stochastic policy h_w over a fixed set of bandit tuples
// (xᵢ, yᵢ, δᵢ, pᵢ), i < num_tuples(). Not thread-safe: implementations keep
// scratch space; every thread has its own.
class TuplePolicy {
 public:
  virtual ~TuplePolicy() = default;

  virtual size_t num_tuples() const = 0;
  virtual Eigen::Index dimension() const = 0;  // Of w.

  virtual double loss(size_t i) const = 0;            // δᵢ in [-1, 0].
  virtual double log_propensity(size_t i) const = 0;  // log pᵢ, finite, <= 0.

  // log h_w(yᵢ|xᵢ); -infinity where it is impossible.
  virtual double LogProbability(const Eigen::VectorXd& parameters,
                                size_t i) = 0;

  // Returns log h_w(yᵢ|xᵢ) and adds scale(log h_w(yᵢ|xᵢ)) · ∇_w log h_w(yᵢ|xᵢ)
  // to `gradient`. The factor is a function of the value because that of every
  // importance-weighted objective is, and the value comes first; where it is 0
  // the rest of the work is saved.
  virtual double AddLogProbabilityGradient(
      const Eigen::VectorXd& parameters, size_t i,
      absl::FunctionRef<double(double)> scale, Eigen::VectorXd* gradient) = 0;
};

}  // namespace sortition
