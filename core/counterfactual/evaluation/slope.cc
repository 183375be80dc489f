#include "core/counterfactual/evaluation/slope.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/counterfactual/estimators.h"

namespace sortition {

Estimator ChooseBySlope(const PolicySums& sums, size_t policy,
                        EstimatorKind kind, double confidence) {
  const std::vector<double> parameters = ParametersOf(kind);
  if (parameters.empty()) return {kind};
  const uint64_t groups = sums.sums().num_used_groups();
  if (groups < 2) return {kind, parameters.back()};
  const double failure =
      (1 - confidence) / static_cast<double>(parameters.size());
  const double t = StudentQuantile(1 - failure / 2, groups - 1);
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
  Estimator chosen = {kind, parameters.back()};
  for (auto parameter = parameters.rbegin(); parameter != parameters.rend();
       ++parameter) {
    const Estimator estimator = {kind, *parameter};
    const RatioEstimate estimate =
        EstimateRatios(sums.sums(), sums.RatiosOf(policy, estimator));
    const double width = 2 * t * estimate.standard_error;
    lower = std::max(lower, estimate.value - width);
    upper = std::min(upper, estimate.value + width);
    if (lower > upper) break;
    chosen = estimator;
  }
  return chosen;
}

}  // namespace sortition
