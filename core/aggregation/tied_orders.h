#pragma once
// Orders of scores with ties. No order of tied items is better than another, so
// all of them count equally.
#include <cstdint>
#include <span>
#include <vector>

#include "core/aggregation/block_function.h"

namespace sortition {

// Writes to `h` the mean of h_σ over all orders σ of x, which is also a
// subgradient of f̂ at x. Scores of a block count as tied if they differ by no
// more than rounding error. O(n log n).
void MeanSubgradient(const BlockFunction& f, std::span<const double> x,
                     std::span<double> h);

// Returns the number of pairs of items that a and b order differently, plus
// half the number of pairs that are tied in a or in b. Requires equal sizes.
// O(n log n).
double TiedKendallDistance(std::span<const double> a,
                           std::span<const double> b);

}  // namespace sortition
