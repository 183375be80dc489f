#include "core/counterfactual/likelihood_terms.h"

#include <cmath>

#include "core/base/check.h"

namespace sortition {
namespace {

// Beyond this weight a term grows as log ρ does.
constexpr double kLargestWeight = 10;

}  // namespace

void LikelihoodTerms::Values(const Eigen::VectorXd& parameters,
                             std::span<const uint32_t> tuples,
                             std::span<double> values) {
  DCHECK(tuples.size() == values.size());
  policy_->LogProbabilities(parameters, tuples, values);
  slopes_.resize(tuples.size());
  for (size_t k = 0; k < tuples.size(); ++k) {
    const double log_weight = values[k] - policy_->log_propensity(tuples[k]);
    slopes_[k] = 0;
    values[k] = 0;
    if (!std::isfinite(log_weight)) continue;
    const double beyond = std::fmax(0, log_weight - std::log(kLargestWeight));
    slopes_[k] = std::expm1(log_weight - beyond);  // min{ρ, M} - 1
    values[k] = slopes_[k] * (1 + beyond) - (log_weight - beyond);
  }
}

void LikelihoodTerms::AddGradient(std::span<const double> factors,
                                  Eigen::VectorXd* gradient) {
  DCHECK(factors.size() == slopes_.size());
  for (size_t k = 0; k < slopes_.size(); ++k) slopes_[k] *= factors[k];
  policy_->AddGradient(slopes_, gradient);
}

}  // namespace sortition
