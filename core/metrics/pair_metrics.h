#pragma once
// Metrics of the quality of an order that count pairs of items.
#include <cstdint>
#include <span>

namespace sortition {

// Returns the number of pairs of items that the two orders order differently:
// Kendall's tau as a distance [Kendall38], from 0 to n (n - 1) / 2. Each order
// has the item at each rank, with the same items 0 .. n - 1. O(n log n).
uint64_t KendallDistance(std::span<const uint32_t> a,
                         std::span<const uint32_t> b);

// Returns the share of the pairs with label_i > label_j that have score_i >
// score_j, where equal scores count half. For labels 0 and 1 this is the area
// under the ROC curve. NaN if all labels are equal. Requires equal sizes and
// scores without NaN. O(n log n).
double RightPairs(std::span<const double> scores,
                  std::span<const uint32_t> labels);

// Returns the expected share, in [0, 1], of the n (n - 1) / 2 pairs that scores
// and labels order differently (seed 001, sec. 17.4.1). Equal scores and equal
// labels are in random order, so a pair with either counts half. 0 for fewer
// than two values. The lecture orders equal values by index (def. 17.5).
// Requirements as for RightPairs(). O(n log n).
double KendallTauCost(std::span<const double> scores,
                      std::span<const uint32_t> labels);

}  // namespace sortition
