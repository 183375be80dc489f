#include "core/counterfactual/weighted_terms.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/crm.h"
#include "core/counterfactual/risks.h"

namespace sortition {

TermFunction ClippedTerm(double clip) {
  return [clip](std::span<const double> losses, std::span<double> values,
                std::span<double> slopes) {
    ClippedLosses(losses, clip, values, slopes);
  };
}

TermFunction LogSmoothedTerm(double lambda) {
  return [lambda](std::span<const double> losses, std::span<double> values,
                  std::span<double> slopes) {
    for (size_t i = 0; i < losses.size(); ++i) {
      slopes[i] = LogSmoothedLossSlope(losses[i], values[i], lambda);
      values[i] = LogSmoothedLoss(losses[i], values[i], lambda);
    }
  };
}

absl::StatusOr<WeightedTerms> WeightedTerms::Create(TuplePolicy* policy,
                                                    TermFunction function,
                                                    LossModel* model) {
  RETURN_IF_ERROR(ValidateCrm(*policy, {}));
  WeightedTerms terms(policy, std::move(function), model);
  terms.weights_ = WeightsOf(*policy);
  terms.logged_.resize(policy->num_tuples());
  for (size_t i = 0; i < policy->num_tuples(); ++i) {
    const double modelled = model == nullptr ? 0 : model->LoggedLoss(i);
    if (!std::isfinite(modelled)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "modelled loss of tuple ", i, " is ", modelled, ", must be finite"));
    }
    terms.logged_[i] = {policy->loss(i) - modelled, policy->log_propensity(i)};
  }
  return terms;
}

void WeightedTerms::Values(const Eigen::VectorXd& parameters,
                           std::span<const uint32_t> tuples,
                           std::span<double> values) {
  DCHECK(tuples.size() == values.size());
  if (model_ == nullptr) {
    std::fill(values.begin(), values.end(), 0);
  } else {
    model_->ExpectedLosses(parameters, tuples, values);
  }
  active_.clear();
  places_.clear();
  active_residuals_.clear();
  for (size_t k = 0; k < tuples.size(); ++k) {
    const double residual = logged_[tuples[k]].residual;
    if (residual == 0) continue;
    active_.push_back(tuples[k]);
    places_.push_back(static_cast<uint32_t>(k));
    active_residuals_.push_back(residual);
  }
  active_values_.resize(active_.size());
  slopes_.resize(active_.size());
  policy_->LogProbabilities(parameters, active_, active_values_);
  for (size_t k = 0; k < active_.size(); ++k) {
    active_values_[k] -= logged_[active_[k]].log_propensity;
  }
  function_(active_residuals_, active_values_, slopes_);
  for (size_t k = 0; k < active_.size(); ++k) {
    values[places_[k]] += active_values_[k];
  }
}

std::optional<EntryGroups> WeightedTerms::Entries(
    std::span<const uint32_t> tuples) {
  if (model_ != nullptr) return std::nullopt;
  active_.clear();
  for (const uint32_t i : tuples) {
    if (logged_[i].residual != 0) active_.push_back(i);
  }
  return policy_->Entries(active_);
}

void WeightedTerms::Prefetch(std::span<const uint32_t> tuples) const {
  for (const uint32_t i : tuples) __builtin_prefetch(&logged_[i]);
  policy_->Prefetch(tuples);
}

void WeightedTerms::AddGradient(std::span<const double> factors,
                                Eigen::VectorXd* gradient) {
  // The values are not needed any more, so their memory is reused for the
  // factors.
  for (size_t k = 0; k < slopes_.size(); ++k) {
    active_values_[k] = factors[places_[k]] * slopes_[k];
  }
  policy_->AddGradient(active_values_, gradient);
  if (model_ != nullptr) model_->AddGradient(factors, gradient);
}

}  // namespace sortition
