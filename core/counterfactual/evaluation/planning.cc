#include "core/counterfactual/evaluation/planning.h"

#include <cmath>
#include <limits>

namespace sortition {
namespace {

// Returns d of the header.
double DistanceOf(IntervalKind kind, double failure_probability) {
  switch (kind) {
    case IntervalKind::kBetting:
      return std::sqrt(-2 * std::log(failure_probability));
    case IntervalKind::kBoundedLikelihood:
      return NormalQuantile(1 - failure_probability / 2);
    default:
      return NormalQuantile(1 - failure_probability);
  }
}

}  // namespace

uint64_t DecisionsToSee(double standard_error, uint64_t num_decisions,
                        double improvement, double failure_probability,
                        double power, IntervalKind kind) {
  const double errors =
      standard_error *
      (DistanceOf(kind, failure_probability) + NormalQuantile(power)) /
      improvement;
  const double needed =
      std::ceil(static_cast<double>(num_decisions) * errors * errors);
  // Beyond it numbers do not fit; NaN neither.
  constexpr double kMost = 1e18;
  return needed < kMost ? static_cast<uint64_t>(needed)
                        : std::numeric_limits<uint64_t>::max();
}

}  // namespace sortition
