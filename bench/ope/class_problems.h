#pragma once
// Data whose items have classes, as bandit problems: an action is a class, and
// its reward is 1 if the item has it, otherwise 0.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sortition {

struct ClassItems {
  uint32_t num_features = 0;  // The last one is constantly 1.
  uint32_t num_classes = 0;
  std::vector<float> features;    // Row-major, n × num_features.
  std::vector<uint8_t> relevant;  // n × num_classes; 1: the item has the class.

  size_t size() const { return relevant.size() / num_classes; }
  std::span<const float> row(size_t item) const {
    return {features.data() + item * num_features, num_features};
  }
  double reward(size_t item, size_t action) const {
    return relevant[item * num_classes + action];
  }
};

struct ClassProblem {
  std::string name;
  ClassItems train;
  ClassItems test;
};

// Reads those of optdigits, scene, yeast and adult that are folders of
// `directory`, and prints which of them are not. More than 128 features are
// reduced to 64 principal components.
absl::StatusOr<std::vector<ClassProblem>> ReadClassProblems(
    const std::string& directory);

}  // namespace sortition
