#pragma once
// Sums of ratios of totals over blocks that are independent and identically
// distributed.
#include <span>
#include <vector>

namespace sortition {

// One ratio in a sum of them: factor · Σ_b numerator_b / Σ_b denominator_b.
struct RatioColumn {
  std::vector<double> numerator;    // By block.
  std::vector<double> denominator;  // By block.
  double factor = 1;
};
// At least one, all with the same number of blocks.
using RatioBlocks = std::vector<RatioColumn>;

// What each block contributes to V = Σ_k factor_k V_k, to first order:
//   d_b = Σ_k factor_k (numerator_kb - V_k denominator_kb) / Σ_b denominator_kb
// These sum up to 0, and V varies like the sum of them.
struct Deviations {
  double value = 0;  // V
  std::vector<double> blocks;
  bool is_known = true;  // No denominator is 0.

  // √(B/(B-1) Σ d²), B blocks [Cochran77]; infinity with fewer than two blocks,
  // or if not known.
  double StandardError() const;
  // The square of the skewness of the sum of the deviations, (Σ d³)² / (Σ
  // d²)³; infinity if all are 0. With it, to first order, 0.25 · SquaredSkew()
  // is what a Student interval of 95 % covers too rarely [Hall92, sec. 2.4].
  double SquaredSkewness() const;
  // The share of the variance that one block has.
  double LargestShare() const;
};
Deviations DeviationsOf(const RatioBlocks& blocks);

// The same where block b is there counts[b] times; `deviations` is reused.
// Requires equal sizes.
void DeviationsOfDrawn(const RatioBlocks& blocks,
                       std::span<const double> counts, Deviations* deviations);

}  // namespace sortition
