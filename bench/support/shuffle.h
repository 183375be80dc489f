#pragma once
// Random orders.
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/base/random.h"

namespace sortition {

// Puts `values` in a uniformly random order (Fisher-Yates).
template <typename T>
void Shuffle(std::span<T> values, RandomSequence* random) {
  for (size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[random->Below(i)]);
  }
}

// Returns 0 .. n - 1 in order.
template <typename T>
std::vector<T> IndexesUpTo(size_t n) {
  std::vector<T> indexes(n);
  std::iota(indexes.begin(), indexes.end(), T{0});
  return indexes;
}

}  // namespace sortition
