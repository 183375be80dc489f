#include "core/learners/rankings/safe_exposure_objective.h"

#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {

double ClickMoment(std::span<const double> examination,
                   std::span<const double> click_offsets, double max_clicks) {
  double clicks = 1;
  double offsets = 0;
  double num_offsets = 0;
  for (size_t k = 0; k < click_offsets.size(); ++k) {
    const double offset = click_offsets[k];
    if (!(offset > 0)) continue;
    clicks = std::fmax(clicks, 1 + offset / examination[k]);
    offsets = std::fmax(offsets, offset * offset / examination[k]);
    ++num_offsets;
  }
  return max_clicks * clicks + num_offsets * offsets;
}

absl::StatusOr<SafeExposureObjective> SafeExposureObjective::Create(
    TupleTerms* terms, ExposureDivergenceTerms* divergence,
    const ExposureSafety& safety) {
  if (terms->num_tuples() != divergence->num_tuples() ||
      terms->dimension() != divergence->dimension()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "divergence is of ", divergence->num_tuples(), " tuples and ",
        divergence->dimension(), " parameters, must be of ",
        terms->num_tuples(), " and ", terms->dimension()));
  }
  const double eta = safety.failure_probability;
  if (!(eta > 0 && eta < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("failure_probability is ", eta, ", must be in (0, 1)"));
  }
  if (!(safety.max_clicks >= 1 && std::isfinite(safety.max_clicks))) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_clicks is ", safety.max_clicks,
                     ", must be finite and at least 1"));
  }
  ASSIGN_OR_RETURN(const TermObjective risk,
                   TermObjective::Create(terms, 0, 0));
  ASSIGN_OR_RETURN(const TermObjective mean,
                   TermObjective::Create(divergence, 0, 0));
  const std::span<const double> weights = divergence->weights();
  const double decisions =
      weights.empty() ? static_cast<double>(divergence->num_tuples())
                      : std::accumulate(weights.begin(), weights.end(), 0.0);
  return SafeExposureObjective(risk, mean,
                               (1 - eta) / eta * safety.max_clicks / decisions);
}

double SafeExposureObjective::Evaluate(const Eigen::VectorXd& point,
                                       Eigen::VectorXd* gradient) const {
  Eigen::VectorXd slope;
  const double mean =
      divergence_.Evaluate(point, gradient == nullptr ? nullptr : &slope);
  const double penalty = std::sqrt(c_ * mean);
  const double risk = risk_.Evaluate(point, gradient);
  // v̄ >= Z > 0, but for discounts that are all 0.
  if (gradient != nullptr && penalty > 0) {
    *gradient += c_ / (2 * penalty) * slope;
  }
  return risk + penalty;
}

double SafeExposureObjective::PullWeight(const Eigen::VectorXd& point) const {
  const double mean = divergence_.Evaluate(point, nullptr);
  return mean > 0 ? std::sqrt(c_ / mean) / 2 : 0;
}

}  // namespace sortition
