#pragma once
// Terms made from the importance weight ρᵢ = h_w(yᵢ|xᵢ) / pᵢ of a tuple:
//   tᵢ = f(δᵢ, ρᵢ),
// and doubly robust terms [DudikLangfordLi11], which use a model δ̂ of the loss:
//   tᵢ = Σ_y h_w(y|xᵢ) δ̂(xᵢ, y) + f(δᵢ - δ̂(xᵢ, yᵢ), ρᵢ).
// If f(δ, ρ) = δ ρ, the expectation of the mean of the latter is the policy's
// risk for any δ̂ that was not made from the tuple's own unit. The better δ̂, the
// smaller the residuals that the weights multiply. (A model that was fitted to
// the same tuples has smaller residuals on them than elsewhere, and corrects
// itself too little: loss models are cross-fitted for this reason.)
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/counterfactual/loss_model.h"
#include "core/counterfactual/tuple_policy.h"
#include "core/counterfactual/tuple_terms.h"

namespace sortition {

// f of many tuples. Replaces values[i] = log ρᵢ (it may be -infinity) by f(δᵢ,
// ρᵢ) and sets slopes[i] to ∂f / ∂ log ρᵢ, for δᵢ = losses[i] != 0. All spans
// have the same size. For δ = 0, f is 0 and not evaluated.
using TermFunction =
    std::function<void(std::span<const double> losses, std::span<double> values,
                       std::span<double> slopes)>;

// Returns f = δ min{M, ρ} for M = `clip`; infinity: IPS.
TermFunction ClippedTerm(double clip);

// Returns f = -log(1 - λ ρ δ) / λ (LogSmoothingRisk in
// core/counterfactual/risks.h), for δ <= 0 and λ > 0.
TermFunction LogSmoothedTerm(double lambda);

class WeightedTerms : public TupleTerms {
 public:
  // `policy` and `model`, which may be null, must outlive this object.
  // InvalidArgument if a loss is outside [-1, 0], or if a log-propensity or a
  // modelled loss is not finite.
  static absl::StatusOr<WeightedTerms> Create(TuplePolicy* policy,
                                              TermFunction function,
                                              LossModel* model);

  size_t num_tuples() const override { return logged_.size(); }
  Eigen::Index dimension() const override { return policy_->dimension(); }
  size_t block_size() const override { return policy_->block_size(); }
  size_t value_block_size() const override {
    return policy_->value_block_size();
  }
  std::span<const double> weights() const override { return weights_; }
  // Asks the policy only for tuples whose residual is not 0.
  void Values(const Eigen::VectorXd& parameters,
              std::span<const uint32_t> tuples,
              std::span<double> values) override;
  void Prefetch(std::span<const uint32_t> tuples) const override;
  void AddGradient(std::span<const double> factors,
                   Eigen::VectorXd* gradient) override;
  std::optional<EntryGroups> Entries(std::span<const uint32_t> tuples) override;

 private:
  WeightedTerms(TuplePolicy* policy, TermFunction function, LossModel* model)
      : policy_(policy), function_(std::move(function)), model_(model) {}

  TuplePolicy* policy_;
  TermFunction function_;
  LossModel* model_;
  // What shuffled tuples need first, together in memory.
  struct Logged {
    double residual;        // δᵢ - δ̂(xᵢ, yᵢ)
    double log_propensity;  // log pᵢ
  };
  std::vector<Logged> logged_;
  std::vector<double> weights_;  // Empty: all 1.
  // The tuples of the last Values() whose residual is not 0.
  std::vector<uint32_t> active_;
  std::vector<uint32_t> places_;  // Their indices in that call.
  std::vector<double> active_residuals_;
  std::vector<double> active_values_;
  std::vector<double> slopes_;  // With respect to log h_w.
};

}  // namespace sortition
