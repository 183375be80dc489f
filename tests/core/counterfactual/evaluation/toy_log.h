#pragma once
// Four actions without context, whose values are known.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/counterfactual/evaluation/policy_sums.h"
#include "tests/core/counterfactual/toy_actions.h"

namespace sortition::testing_evaluation {

// Probability with which a one-sided bound may fail.
inline constexpr double kAlpha = 0.025;

// Four standard errors above the mean of events with this probability in `logs`
// independent logs, and as many below.
inline double MostOf(int logs, double probability) {
  return logs * probability +
         4 * std::sqrt(logs * probability * (1 - probability));
}
inline double FewestOf(int logs, double probability) {
  return logs - MostOf(logs, 1 - probability);
}

// A model of the rewards that is wrong.
inline constexpr double kModel[kActions] = {0.3, 0.3, 0.9, 0.7};
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

inline uint64_t Unit(uint64_t number) {
  return UnitKey(std::to_string(number), "");
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

}  // namespace sortition::testing_evaluation
