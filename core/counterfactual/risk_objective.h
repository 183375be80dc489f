#pragma once
// A risk of the importance weights as a function of the policy's parameters:
//   f(w) = R(δ, ρ(w)) + μ ‖w‖².
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/counterfactual/risks.h"
#include "core/counterfactual/tuple_policy.h"
#include "core/optim/objective.h"

namespace sortition {

// The value costs one pass over the tuples. The gradient costs a second one,
// unless one block of the policy holds all tuples.
class RiskObjective : public Objective {
 public:
  // `policy` and `risk` must outlive the objective. InvalidArgument if there
  // are fewer than 2 tuples, if a loss is outside [-1, 0], if a log-propensity
  // is not finite or is positive, or if l2 μ is not finite or is negative.
  static absl::StatusOr<RiskObjective> Create(TuplePolicy* policy,
                                              const Risk* risk, double l2);

  Eigen::Index dimension() const override { return policy_->dimension(); }
  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override;

  std::span<const double> losses() const { return losses_; }
  std::span<const double> log_propensities() const { return log_propensities_; }
  // Returns log ρᵢ at `point`; -infinity for tuples whose weight does not
  // matter.
  std::vector<double> LogWeights(const Eigen::VectorXd& point) const;

 private:
  std::vector<double> LogWeights(const Eigen::VectorXd& point,
                                 size_t block_size) const;
  RiskObjective(TuplePolicy* policy, const Risk* risk, double l2);

  TuplePolicy* policy_;
  const Risk* risk_;
  double l2_;
  std::vector<double> weights_;  // Of the tuples; empty: all 1.
  std::vector<double> losses_;
  std::vector<double> log_propensities_;
  std::vector<uint32_t> active_;  // Tuples whose importance weight matters.
};

}  // namespace sortition
