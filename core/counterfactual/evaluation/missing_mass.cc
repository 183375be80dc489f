#include "core/counterfactual/evaluation/missing_mass.h"

#include <algorithm>

#include "core/base/check.h"

namespace sortition {

MissingMass MissingMassOf(std::span<const double> target,
                          std::span<const double> logging) {
  CHECK(target.size() == logging.size());
  MissingMass mass;
  mass.largest_weight = 0;
  for (size_t a = 0; a < target.size(); ++a) {
    if (!(target[a] > 0)) continue;
    mass.largest_weight = std::max(mass.largest_weight, target[a] / logging[a]);
    for (size_t i = 0; i < kNumParameters; ++i) {
      mass.beyond[i] += std::max(0.0, target[a] - kClips[i] * logging[a]);
    }
  }
  for (double& beyond : mass.beyond) beyond = std::min(beyond, 1.0);
  return mass;
}

MissingMass MissingMassOfDraw(double log_weight) {
  MissingMass mass;
  for (size_t i = 0; i < kNumParameters; ++i) {
    mass.beyond[i] = std::max(0.0, 1 - kClips[i] * std::exp(-log_weight));
  }
  return mass;
}

}  // namespace sortition
