#pragma once
// Random bandit tuples, to compare two computations on them.
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "core/learners/multilabel/label_tuples.h"

namespace sortition {

// Tuples with 2 to 7 candidates, every other one sparse, with random actions,
// losses and propensities.
inline std::vector<BanditTuple> RandomTuples(const LinearFamily& family,
                                             size_t n, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  std::vector<BanditTuple> tuples(n);
  for (size_t i = 0; i < n; ++i) {
    BanditTuple& tuple = tuples[i];
    tuple.num_features = family.num_features;
    const int rows = 2 + static_cast<int>(random.Below(6));
    if (i % 2 == 1) tuple.row_offsets.push_back(0);
    for (int row = 0; row < rows; ++row) {
      for (uint32_t j = 0; j < family.num_features; ++j) {
        const float value = static_cast<float>(random.Normal());
        if (i % 2 == 0) {
          tuple.values.push_back(value);
        } else if (random.Uniform() < 0.6) {
          tuple.columns.push_back(j);
          tuple.values.push_back(value);
        }
      }
      if (i % 2 == 1) {
        tuple.row_offsets.push_back(static_cast<uint32_t>(tuple.values.size()));
      }
    }
    if (family.action_kind == ActionKind::kSelect) {
      const int first = family.can_abstain ? kAbstain : 0;
      tuple.action = {first + static_cast<int32_t>(random.Below(rows - first))};
    } else if (family.action_kind == ActionKind::kSubset) {
      for (int row = 0; row < rows; ++row) {
        if (random.Uniform() < 0.5) tuple.action.push_back(row);
      }
      if (family.subset_size > 0 && tuple.action.empty()) tuple.action = {0};
    } else {
      for (int row = 0; row < rows; ++row) tuple.action.push_back(row);
      for (int row = rows - 1; row > 0; --row) {
        std::swap(tuple.action[row], tuple.action[random.Below(row + 1)]);
      }
      tuple.action.resize(1 + random.Below(rows));
    }
    tuple.log_propensity = std::log(0.02 + 0.3 * random.Uniform());
    tuple.loss = -random.Uniform();
    tuple.unit = UnitKey("", std::to_string(i));
  }
  return tuples;
}

inline Eigen::VectorXd RandomPoint(const LinearFamily& family,
                                   RandomSequence* random) {
  Eigen::VectorXd point(family.dimension());
  for (double& entry : point) entry = random->Normal();
  return point;
}

// Sets of labels: `num_contexts` contexts with half of their values present,
// each used by some of the n tuples.
struct RandomLabels {
  RandomLabels(uint32_t num_features, uint32_t num_labels,
               uint32_t num_contexts, size_t n, uint64_t seed) {
    RandomSequence random(SeedKey(seed));
    contexts.num_features = num_features;
    contexts.num_labels = num_labels;
    for (uint32_t row = 0; row < num_contexts; ++row) {
      for (uint32_t j = 0; j < num_features; ++j) {
        if (random.Uniform() < 0.5) continue;
        contexts.columns.push_back(j);
        contexts.values.push_back(static_cast<float>(random.Normal()));
      }
      contexts.row_offsets.push_back(contexts.values.size());
    }
    for (size_t i = 0; i < n; ++i) {
      tuples.contexts.push_back(static_cast<uint32_t>(i % num_contexts));
      for (uint32_t l = 0; l < num_labels; ++l) {
        tuples.labels.push_back(static_cast<uint8_t>(random.Below(2)));
      }
      tuples.log_propensities.push_back(
          std::log(0.05 + 0.4 * random.Uniform()));
      tuples.losses.push_back(-random.Uniform());
    }
  }

  LabelContexts contexts;
  LabelTuples tuples;
};

}  // namespace sortition
