#pragma once
// Examples with known structure, to learn rewards from.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/reward_models/reward_model_sums.h"

namespace sortition::testing_reward_models {

inline constexpr RewardModelKind kFittedKinds[] = {
    RewardModelKind::kRidge, RewardModelKind::kTrees, RewardModelKind::kBest};

// An example that owns its features.
struct ToyExample {
  std::vector<float> features;
  double reward = 0;
  double weight = 1;
  uint64_t unit_hash = 0;
  bool abstained = false;

  RewardExample View() const {
    return {.features = features,
            .abstained = abstained,
            .reward = reward,
            .weight = weight,
            .unit_hash = unit_hash};
  }
};

// `count` examples, two of a unit, with normal features of different scales and
// origins; rewards are 0.5 + 0.1 (z_0 - z_1) of the standardised features, with
// noise, and weights between 0.5 and 1.5.
inline std::vector<ToyExample> LinearExamples(size_t count, size_t num_features,
                                              uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  std::vector<ToyExample> examples(count);
  for (size_t i = 0; i < count; ++i) {
    ToyExample& example = examples[i];
    double reward = 0.5 + 0.05 * random.Normal();
    for (size_t j = 0; j < num_features; ++j) {
      const double z = random.Normal();
      if (j < 2) reward += (j == 0 ? 0.1 : -0.1) * z;
      example.features.push_back(static_cast<float>(
          static_cast<double>(j % 3) + static_cast<double>(j + 1) * z));
    }
    example.reward = std::clamp(reward, 0.0, 1.0);
    example.weight = 0.5 + random.Uniform();
    example.unit_hash = UnitKey(std::to_string(i / 2), "");
  }
  return examples;
}

// Features uniform in [-1, 1], of which the signs of the first two decide: the
// reward is 0.8 where they are equal and 0.2 elsewhere, and no linear function
// says anything about it.
inline std::vector<ToyExample> InteractionExamples(size_t count,
                                                   size_t num_features,
                                                   uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  std::vector<ToyExample> examples(count);
  for (size_t i = 0; i < count; ++i) {
    ToyExample& example = examples[i];
    for (size_t j = 0; j < num_features; ++j) {
      example.features.push_back(static_cast<float>(2 * random.Uniform() - 1));
    }
    const bool equal = (example.features[0] > 0) == (example.features[1] > 0);
    example.reward = random.Uniform() < (equal ? 0.8 : 0.2) ? 1 : 0;
    example.unit_hash = UnitKey(std::to_string(i), "");
  }
  return examples;
}

inline CrossFittedModel FitTo(const std::vector<ToyExample>& examples,
                              RewardModelKind kind, uint32_t num_folds = 5) {
  const size_t num_features =
      examples.empty() ? 0 : examples.front().features.size();
  RewardModelSums sums(kind, static_cast<uint32_t>(num_features), num_folds);
  for (const ToyExample& example : examples) sums.Add(example.View());
  return *sums.Fit();
}

}  // namespace sortition::testing_reward_models
