#pragma once
// A regression of the loss, as the doubly robust objective uses it.
#include <cstddef>
#include <cstdint>
#include <span>

#include "Eigen/Core"

namespace sortition {

// δ̂(x, y) over the bandit tuples of a TuplePolicy h_w, and its expectation
// under h_w. Fitted before; w changes the expectation only. Not thread-safe, as
// TuplePolicy.
class LossModel {
 public:
  virtual ~LossModel() = default;

  // δ̂(xᵢ, yᵢ) of the logged action.
  virtual double LoggedLoss(size_t i) const = 0;

  // Σ_y h_w(y|xᵢ) δ̂(xᵢ, y), exactly, of each i in `tuples` into `losses`, of
  // the same size. What AddGradient() needs of it is remembered.
  virtual void ExpectedLosses(const Eigen::VectorXd& parameters,
                              std::span<const uint32_t> tuples,
                              std::span<double> losses) = 0;

  // Adds Σ_k factors[k] · ∇_w of the k-th expectation of the last
  // ExpectedLosses(), at its parameters.
  virtual void AddGradient(std::span<const double> factors,
                           Eigen::VectorXd* gradient) = 0;
};

}  // namespace sortition
