#include "bench/papers/poem/smoothed_risk.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/counterfactual/weighted_terms.h"

namespace sortition {
namespace {

// f = δ ρ s / (ρ² + s)
TermFunction ShrunkTerm(double s) {
  return [s](std::span<const double> losses, std::span<double> values,
             std::span<double> slopes) {
    for (size_t i = 0; i < values.size(); ++i) {
      const double weight = std::exp(std::fmin(values[i], 300));
      const double square = weight * weight;
      values[i] = losses[i] * weight * s / (square + s);
      slopes[i] = values[i] * (s - square) / (s + square);
    }
  };
}

// Replaces p by p + γ, at most 1.
void AddGamma(double quantile, std::vector<double>* log_propensities) {
  std::vector<double> sorted = *log_propensities;
  std::sort(sorted.begin(), sorted.end());
  const double gamma = std::exp(sorted[static_cast<size_t>(
      quantile * static_cast<double>(sorted.size() - 1))]);
  for (double& value : *log_propensities) {
    value = std::fmin(0, std::log(std::exp(value) + gamma));
  }
}

class SmoothedRisk : public GridRisk {
 public:
  static absl::StatusOr<std::unique_ptr<GridRisk>> Create(
      const Smoothing& smoothing, const LabelContexts& contexts,
      const LabelTuples& tuples) {
    auto risk = std::unique_ptr<SmoothedRisk>(new SmoothedRisk(tuples));
    if (smoothing.weights == Weights::kImplicit) {
      AddGamma(smoothing.quantile, &risk->tuples_.log_propensities);
    }
    ASSIGN_OR_RETURN(LabelsPolicy policy,
                     LabelsPolicy::Create(contexts, risk->tuples_));
    risk->policy_.emplace(std::move(policy));
    ASSIGN_OR_RETURN(
        WeightedTerms terms,
        WeightedTerms::Create(&*risk->policy_,
                              smoothing.weights == Weights::kShrunk
                                  ? ShrunkTerm(smoothing.clip * smoothing.clip)
                                  : ClippedTerm(smoothing.clip),
                              nullptr));
    risk->terms_.emplace(std::move(terms));
    return risk;
  }

  TupleTerms* terms() override { return &*terms_; }

 private:
  explicit SmoothedRisk(LabelTuples tuples) : tuples_(std::move(tuples)) {}

  LabelTuples tuples_;
  std::optional<LabelsPolicy> policy_;
  std::optional<WeightedTerms> terms_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GridRisk>> MakeSmoothedRisk(
    const Smoothing& smoothing, const LabelContexts& contexts,
    const LabelTuples& tuples) {
  return SmoothedRisk::Create(smoothing, contexts, tuples);
}

}  // namespace sortition
