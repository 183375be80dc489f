#pragma once
// Data sets with labels, each made into the problem of the POEM paper.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/papers/poem/label_experiment.h"

namespace sortition {

struct LabelSet {
  std::string name;
  LabelData data;
};

// Reads those of scene, yeast, optdigits and adult that are folders of
// `directory`, and prints which of them are not. The labels of optdigits are
// its ten digits; adult has one label.
absl::StatusOr<std::vector<LabelSet>> ReadLabelSets(
    const std::string& directory);

}  // namespace sortition
