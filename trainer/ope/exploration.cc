#include "trainer/ope/exploration.h"

#include <cmath>
#include <limits>

namespace sortition {

void Exploration::Add(double reward, double log_propensity, double log_policy,
                      double log_uniform) {
  ++decisions_;
  const double uniform = std::exp(log_uniform);
  const double policy = std::exp(log_policy);
  const double residual = reward - mean_reward_;
  const double weight = std::exp(2 * log_uniform - log_propensity);
  for (size_t i = 0; i < kMixtures.size(); ++i) {
    const double mixed = (1 - kMixtures[i]) * policy + kMixtures[i] * uniform;
    sums_[i] += weight / mixed * residual * residual;
  }
}

double Exploration::DeviationAt(size_t mixture) const {
  if (decisions_ == 0 || !std::isfinite(sums_[mixture])) {
    return std::numeric_limits<double>::infinity();
  }
  return std::sqrt(sums_[mixture] / static_cast<double>(decisions_));
}

}  // namespace sortition
