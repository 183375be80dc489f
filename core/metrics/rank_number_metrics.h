#pragma once
// Costs of scores against labels as the lecture on ranking losses defines them
// (seed 001, sec. 17.4): by rank numbers, 1 for the least and n for the
// greatest. Among equal values the later has the greater number (def. 17.5), in
// the labels too: a cost of 0 then asks for one certain order of equal labels.
#include <cstdint>
#include <span>
#include <vector>

namespace sortition {

// ȳ (def. 17.5). O(n log n).
std::vector<uint32_t> RankNumbers(std::span<const double> values);

// Share of the pairs whose order differs, 2 / (n (n - 1)) of their number; 0 of
// fewer than two values. Both of one size. O(n log n).
double KendallTauCost(std::span<const double> scores,
                      std::span<const double> labels);

// 1 - G(ȳ') / G(ȳ), G(v) = Σ_i D(v_i) y_i (eq. 7) with D(v) = 1 / log2(n - v +
// 2) for the k greatest numbers and else 0; k = 0: n. Requires labels y >= 0;
// NaN where all are 0, as the lecture rules that out. Both of one size.
double NdcgCost(std::span<const double> scores, std::span<const double> labels,
                uint32_t k);

}  // namespace sortition
