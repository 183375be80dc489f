#pragma once
// Blocks of which the ratio is the mean of values.
#include <vector>

#include "core/counterfactual/confidence/ratio_blocks.h"

namespace sortition {

inline RatioBlocks MeanOf(const std::vector<double>& values) {
  return {{values, std::vector<double>(values.size(), 1.0), 1}};
}

}  // namespace sortition
