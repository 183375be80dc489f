#pragma once
// Costs of scores with respect to labels as the lecture on ranking losses
// defines them (seed 001, sec. 17.4). They use rank numbers, 1 for the least
// value and n for the greatest. Among equal values the later one has the
// greater number (def. 17.5). This also holds for labels, so that a cost of 0
// requires one particular order of equal labels.
#include <cstdint>
#include <span>
#include <vector>

namespace sortition {

// Returns the rank numbers ȳ of the values (def. 17.5). O(n log n).
std::vector<uint32_t> RankNumbers(std::span<const double> values);

// Returns the share of the n (n - 1) / 2 pairs that scores and labels order
// differently; 0 for fewer than two values. Requires equal sizes. O(n log n).
double KendallTauCost(std::span<const double> scores,
                      std::span<const double> labels);

// Returns 1 - G(ȳ') / G(ȳ), G(v) = Σ_i D(v_i) y_i (eq. 7), where ȳ' has the
// rank numbers of the scores, and D(v) = 1 / log2(n - v + 2) for the k greatest
// numbers, else 0. k = 0 means n. Requires equal sizes and labels y >= 0. NaN
// if all labels are 0, a case that the lecture excludes.
double NdcgCost(std::span<const double> scores, std::span<const double> labels,
                uint32_t k);

}  // namespace sortition
