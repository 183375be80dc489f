#pragma once
// Four actions without context, whose values are known. Rewards are Bernoulli.
#include <cstddef>

#include "core/base/random.h"

namespace sortition::testing_evaluation {

inline constexpr size_t kActions = 4;
inline constexpr double kLogging[kActions] = {0.4, 0.3, 0.2, 0.1};
inline constexpr double kNew[kActions] = {0.1, 0.1, 0.2, 0.6};
inline constexpr double kReward[kActions] = {0.2, 0.5, 0.6, 0.9};
// v = 0.02 + 0.05 + 0.12 + 0.54; v₀ = 0.08 + 0.15 + 0.12 + 0.09.
inline constexpr double kNewValue = 0.73;
inline constexpr double kLoggedValue = 0.44;

// An action as the log draws it.
inline size_t DrawAction(RandomSequence* random) {
  double u = random->Uniform();
  size_t action = 0;
  while (action + 1 < kActions && u >= kLogging[action])
    u -= kLogging[action++];
  return action;
}

}  // namespace sortition::testing_evaluation
