#pragma once
// A regression model of the loss for the doubly robust objective.
#include <cstddef>
#include <cstdint>
#include <span>

#include "Eigen/Core"

namespace sortition {

// δ̂(x, y) over the bandit tuples of a TuplePolicy h_w, and its expectation
// under h_w. The model is fitted beforehand: w changes only the expectation.
// Not thread-safe, like TuplePolicy.
class LossModel {
 public:
  virtual ~LossModel() = default;

  // Returns δ̂(xᵢ, yᵢ) of the logged action.
  virtual double LoggedLoss(size_t i) const = 0;

  // Writes the exact expectation Σ_y h_w(y|xᵢ) δ̂(xᵢ, y) for each i in `tuples`
  // to `losses`, which has the same size. Keeps what AddGradient() needs.
  virtual void ExpectedLosses(const Eigen::VectorXd& parameters,
                              std::span<const uint32_t> tuples,
                              std::span<double> losses) = 0;

  // Adds to `gradient` the gradient with respect to w of Σ_k factors[k] · (k-th
  // expectation of the last ExpectedLosses()), at its parameters.
  virtual void AddGradient(std::span<const double> factors,
                           Eigen::VectorXd* gradient) = 0;
};

}  // namespace sortition
