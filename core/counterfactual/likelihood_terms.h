#pragma once
// The pull of the log: terms whose mean estimates how far a policy is from the
// policies that logged.
//
//   tᵢ = ρᵢ - 1 - log ρᵢ,  ρᵢ = h_w(yᵢ|xᵢ) / pᵢ
//
// For yᵢ drawn from π(.|xᵢ) with pᵢ = π(yᵢ|xᵢ), E[ρᵢ | xᵢ] = 1 and E[tᵢ | xᵢ] =
// Σ_y π (log π - log h_w) = KL(π(.|xᵢ) ‖ h_w(.|xᵢ)): their mean estimates the
// mean divergence, from nothing but the logged action and its propensity. (KL
// in the other direction needs π of other actions.)
//
// -log ρᵢ alone has the same expectation, but its gradient at h_w = π is 0 in
// the mean only: a large factor turns that noise into steps away from π, and
// the sample's mean has its minimum, below 0, elsewhere. tᵢ is positive but for
// ρᵢ = 1, and its slope in log ρᵢ is ρᵢ - 1: at h_w = π no tuple has a
// gradient.
//
// Above M = 10, tᵢ goes on with the slope M - 1 of log ρᵢ, so that one tuple
// with a small propensity is not all of a gradient. What is said of its sign
// stays true; where weights are beyond M, the divergence is underestimated.
#include <vector>

#include "core/counterfactual/tuple_policy.h"
#include "core/counterfactual/tuple_terms.h"

namespace sortition {

// Tuples with h_w(yᵢ|xᵢ) = 0 have the term 0 and no gradient: an action that
// something else hid, or one that no parameters of this family can choose.
class LikelihoodTerms : public TupleTerms {
 public:
  // `policy` must outlive this. It may be used by others between a call of
  // Values() and the next one, but not before AddGradient().
  explicit LikelihoodTerms(TuplePolicy* policy)
      : policy_(policy), weights_(WeightsOf(*policy)) {}

  size_t num_tuples() const override { return policy_->num_tuples(); }
  Eigen::Index dimension() const override { return policy_->dimension(); }
  size_t block_size() const override { return policy_->block_size(); }
  std::span<const double> weights() const override { return weights_; }
  void Values(const Eigen::VectorXd& parameters,
              std::span<const uint32_t> tuples,
              std::span<double> values) override;
  void AddGradient(std::span<const double> factors,
                   Eigen::VectorXd* gradient) override;
  std::optional<EntryGroups> Entries(
      std::span<const uint32_t> tuples) override {
    return policy_->Entries(tuples);
  }

 private:
  TuplePolicy* policy_;
  std::vector<double> weights_;  // Empty: all 1.
  std::vector<double> slopes_;   // ∂t / ∂ log h of the last Values().
};

}  // namespace sortition
