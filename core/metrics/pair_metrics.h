#pragma once
// Quality of an order by its pairs.
#include <cstdint>
#include <span>

namespace sortition {

// Pairs of items that one order has the other way round than the other:
// Kendall's tau as a distance [Kendall38], 0 to n (n - 1) / 2. Orders as item
// by rank, of the same items 0 .. n - 1. O(n log n).
uint64_t KendallDistance(std::span<const uint32_t> a,
                         std::span<const uint32_t> b);

// Share of the pairs of a good and a bad item that have the good one first:
// area under the ROC curve. good[rank], best rank first. NaN unless there are
// items of both kinds.
double AreaUnderRoc(std::span<const uint8_t> good);

// Share of the pairs with label_i > label_j that have score_i > score_j, equal
// scores half: of labels 0 and 1 the area under the ROC curve. NaN where all
// labels are equal. Both of one size; scores not NaN. O(n log n).
double RightPairs(std::span<const double> scores,
                  std::span<const uint32_t> labels);

}  // namespace sortition
