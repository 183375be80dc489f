#pragma once
// A part of the bandit tuples of sets of labels.
#include <cstdint>
#include <span>

#include "core/learners/multilabel/label_conversion.h"

namespace sortition {

// Returns the tuples `which`, in that order; each has `num_labels` labels.
LabelTuples PartOf(const LabelTuples& tuples, std::span<const uint32_t> which,
                   uint32_t num_labels);

}  // namespace sortition
