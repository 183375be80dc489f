#pragma once
// Means of scores whose items tie: no order of equal scores is better than
// another, so all of them count alike.
#include <cstdint>
#include <span>
#include <vector>

#include "core/aggregation/block_function.h"

namespace sortition {

// The mean of h_σ over all orders σ of x: at x a subgradient of f̂, too. Scores
// of a block are equal where they differ by rounding only. O(n log n).
void MeanSubgradient(const BlockFunction& f, std::span<const double> x,
                     std::span<double> h);

// Pairs of items that a and b have the other way round, and half of those that
// either does not tell apart. Both of one size. O(n log n).
double TiedKendallDistance(std::span<const double> a,
                           std::span<const double> b);

}  // namespace sortition
