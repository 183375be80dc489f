#include "bench/support/label_part.h"

#include <cstddef>

namespace sortition {

LabelTuples PartOf(const LabelTuples& tuples, std::span<const uint32_t> which,
                   uint32_t num_labels) {
  LabelTuples part;
  for (const uint32_t i : which) {
    part.contexts.push_back(tuples.contexts[i]);
    part.losses.push_back(tuples.losses[i]);
    part.log_propensities.push_back(tuples.log_propensities[i]);
    const auto labels =
        tuples.labels.begin() + static_cast<ptrdiff_t>(i) * num_labels;
    part.labels.insert(part.labels.end(), labels, labels + num_labels);
  }
  return part;
}

}  // namespace sortition
