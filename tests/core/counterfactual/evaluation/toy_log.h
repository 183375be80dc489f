#pragma once
// Four actions without context, whose values are known.
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/evaluation/policy_sums.h"

namespace sortition::testing_evaluation {

// Probability with which a one-sided bound may fail.
inline constexpr double kAlpha = 0.025;

inline constexpr size_t kActions = 4;
inline constexpr double kLogging[kActions] = {0.4, 0.3, 0.2, 0.1};
inline constexpr double kNew[kActions] = {0.1, 0.1, 0.2, 0.6};
inline constexpr double kReward[kActions] = {0.2, 0.5, 0.6, 0.9};
// A model of the rewards that is wrong.
inline constexpr double kModel[kActions] = {0.3, 0.3, 0.9, 0.7};
// v = 0.02 + 0.05 + 0.12 + 0.54; v₀ = 0.08 + 0.15 + 0.12 + 0.09.
inline constexpr double kNewValue = 0.73;
inline constexpr double kLoggedValue = 0.44;
// 0.03 + 0.03 + 0.18 + 0.42
inline constexpr double kModelValue = 0.66;
// Another one, and 0.05 + 0.04 + 0.04 + 0.36.
inline constexpr double kRobustModel[kActions] = {0.5, 0.4, 0.2, 0.6};
inline constexpr double kRobustValue = 0.49;

inline JudgedDecision Judge(size_t action) {
  return {.log_weight = std::log(kNew[action] / kLogging[action]),
          .modelled_logged = kModel[action],
          .modelled_policy = kModelValue,
          .robust_logged = kRobustModel[action],
          .robust_policy = kRobustValue};
}

// Every estimator with every value of its parameter.
inline std::vector<Estimator> AllEstimators() {
  std::vector<Estimator> all;
  for (const EstimatorKind kind : AllEstimatorKinds()) {
    const std::vector<double> parameters = ParametersOf(kind);
    if (parameters.empty()) all.push_back({kind});
    for (const double parameter : parameters) all.push_back({kind, parameter});
  }
  return all;
}

// An action as the log draws it.
inline size_t DrawAction(RandomSequence* random) {
  double u = random->Uniform();
  size_t action = 0;
  while (action + 1 < kActions && u >= kLogging[action])
    u -= kLogging[action++];
  return action;
}

}  // namespace sortition::testing_evaluation
