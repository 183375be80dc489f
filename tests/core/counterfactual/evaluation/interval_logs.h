#pragma once
// Logs of the toy, and what is asked of their intervals.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/counterfactual/evaluation/intervals.h"
#include "tests/core/counterfactual/evaluation/toy_log.h"

namespace sortition::testing_evaluation {

// The toy's policy, and the uniform one, whose value is 0.55.
inline constexpr double kUniformValue = 0.55;

inline JudgedDecision JudgeUniform(size_t action) {
  return {.log_weight = std::log(0.25 / kLogging[action])};
}

inline uint64_t Unit(uint64_t number) {
  return UnitKey(std::to_string(number), "");
}

// Units of `size` decisions of the toy.
inline PolicySums ToyLog(size_t num_units, int size, uint64_t seed,
                         size_t num_groups = 512) {
  RandomSequence random(SeedKey(seed));
  PolicySums sums(2, num_groups);
  for (uint64_t unit = 0; unit < num_units; ++unit) {
    for (int i = 0; i < size; ++i) {
      const size_t action = DrawAction(&random);
      const double reward = random.Uniform() < kReward[action] ? 1 : 0;
      const JudgedDecision policies[2] = {Judge(action), JudgeUniform(action)};
      sums.Add(Unit(unit), 1, reward, policies);
    }
  }
  return sums;
}

// Uniform logging; the policy always takes the best action: weights 0 and 4.
inline PolicySums DeterministicLog(size_t num_decisions, uint64_t seed,
                                   double click = 1) {
  RandomSequence random(SeedKey(seed));
  PolicySums sums(1, GroupSums::kDefaultGroups);
  for (uint64_t i = 0; i < num_decisions; ++i) {
    const size_t action = random.Below(kActions);
    const double reward = random.Uniform() < click * kReward[action] ? 1 : 0;
    const JudgedDecision decision = {
        .log_weight = action == 3 ? std::log(4)
                                  : -std::numeric_limits<double>::infinity()};
    sums.Add(Unit(i), 1, reward, {&decision, 1});
  }
  return sums;
}

inline IntervalTask TaskOf(const PolicySums& sums, IntervalTask::Of of,
                           EstimatorKind kind = EstimatorKind::kIps) {
  IntervalTask task;
  task.sums = &sums;
  task.of = of;
  task.other = 1;
  task.estimator = {kind};
  task.seed = 1;
  return task;
}

}  // namespace sortition::testing_evaluation
