#pragma once
// A regression model of the loss for the doubly robust objective.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/status.h"

namespace sortition {

// How a loss model is fitted to the tuples that it corrects.
struct LossModelFit {
  // Weight of the squared coefficients, in units of `scales`, beside the sum of
  // squared errors; finite and positive.
  double l2 = 1;
  // Tuples fall into this many folds by unit; what is said of a tuple comes
  // from a model that was fitted without its fold [ChernozhukovEtAl18]. 1: one
  // model, fitted to the tuples that it corrects. It repeats part of what it
  // has seen, so that the doubly robust risk is biased towards the model.
  uint32_t folds = 5;
  // How much each tuple counts (TuplePolicy::weight()); empty: 1.
  std::vector<double> weights = {};
  // Unit of each parameter of the policy (ParameterFrame); empty: 1.
  Eigen::VectorXd scales = {};
};

// InvalidArgument where l2 is not finite and positive or there are no folds.
absl::Status ValidateLossModelFit(const LossModelFit& fit);

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
