#pragma once
// Terms made from the importance weight ρᵢ = h_w(yᵢ|xᵢ) / pᵢ of a tuple:
//   tᵢ = f(δᵢ, ρᵢ),
// and the doubly robust ones [DudikLangfordLi11], with a model δ̂ of the loss:
//   tᵢ = Σ_y h_w(y|xᵢ) δ̂(xᵢ, y) + f(δᵢ - δ̂(xᵢ, yᵢ), ρᵢ).
// Where f(δ, ρ) = δ ρ, the mean of the latter has the policy's risk as its
// expectation whatever δ̂ is, as long as it was not made from these tuples; the
// better δ̂, the smaller the residuals that the weights multiply. (A model
// fitted to the same tuples has smaller residuals there than elsewhere: that
// bias falls with its number of parameters over n. What chooses and what gates
// a policy uses other tuples, and no model.)
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

// f of many tuples: values[i], log ρᵢ (it may be -infinity), becomes f(δᵢ, ρᵢ)
// for δᵢ = losses[i], not 0, and slopes[i] becomes ∂f / ∂ log ρᵢ. All of one
// size. Where δ = 0, f is 0.
using TermFunction =
    std::function<void(std::span<const double> losses, std::span<double> values,
                       std::span<double> slopes)>;

// δ min{M, ρ} for M = `clip`; infinity: IPS.
TermFunction ClippedTerm(double clip);

// -log(1 - λ ρ δ) / λ (LogSmoothingRisk in core/counterfactual/risks.h). For
// δ <= 0, λ > 0.
TermFunction LogSmoothedTerm(double lambda);

class WeightedTerms : public TupleTerms {
 public:
  // `policy` and `model` must outlive this; null: no model. InvalidArgument
  // where a loss is outside [-1, 0], or a log-propensity or a modelled loss is
  // not finite.
  static absl::StatusOr<WeightedTerms> Create(TuplePolicy* policy,
                                              TermFunction function,
                                              LossModel* model);

  size_t num_tuples() const override { return residuals_.size(); }
  Eigen::Index dimension() const override { return policy_->dimension(); }
  size_t block_size() const override { return policy_->block_size(); }
  // Tuples without a residual cost nothing of the policy.
  void Values(const Eigen::VectorXd& parameters,
              std::span<const uint32_t> tuples,
              std::span<double> values) override;
  void Prefetch(std::span<const uint32_t> tuples) const override;
  void AddGradient(std::span<const double> factors,
                   Eigen::VectorXd* gradient) override;
  std::optional<EntryGroups> gradient_entries() override {
    return model_ == nullptr ? policy_->gradient_entries() : std::nullopt;
  }

 private:
  WeightedTerms(TuplePolicy* policy, TermFunction function, LossModel* model)
      : policy_(policy), function_(std::move(function)), model_(model) {}

  TuplePolicy* policy_;
  TermFunction function_;
  LossModel* model_;
  std::vector<double> residuals_;         // δᵢ - δ̂(xᵢ, yᵢ)
  std::vector<double> log_propensities_;  // log pᵢ
  // Of the last Values(): its tuples that have a residual.
  std::vector<uint32_t> active_;
  std::vector<uint32_t> places_;  // Of each of them among all.
  std::vector<double> active_residuals_;
  std::vector<double> active_values_;
  std::vector<double> slopes_;  // By log h_w.
};

}  // namespace sortition
