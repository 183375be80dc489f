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

std::vector<double> ProbabilitiesOfTwo(const LoggedSelection& selection) {
  const size_t n = selection.num_candidates;
  std::vector<double> probabilities(n + 1, 0);
  const double logged = std::exp(selection.log_propensity);
  const size_t chosen =
      selection.action < 0 ? n : static_cast<size_t>(selection.action);
  size_t num_actions = 0;
  for (size_t i = 0; i <= n; ++i) {
    const bool is_possible =
        i == n ? selection.can_abstain
               : selection.eligible.empty() || selection.eligible[i];
    if (!is_possible) continue;
    if (++num_actions > 2) return {};
    probabilities[i] = i == chosen ? logged : std::max(0.0, 1 - logged);
  }
  if (num_actions != 2) return {};
  return probabilities;
}

MissingMass MissingMassOfDraw(double log_weight) {
  MissingMass mass;
  for (size_t i = 0; i < kNumParameters; ++i) {
    mass.beyond[i] = std::max(0.0, 1 - kClips[i] * std::exp(-log_weight));
  }
  return mass;
}

}  // namespace sortition
