#include "core/counterfactual/evaluation/group_blocks.h"

#include <algorithm>
#include <vector>

namespace sortition {

RatioBlocks MakeBlocks(const GroupSums& sums, std::span<const Ratio> ratios,
                       size_t most_blocks) {
  std::vector<size_t> used;
  for (size_t g = 0; g < sums.num_groups(); ++g) {
    if (sums.is_used(g)) used.push_back(g);
  }
  const size_t size = std::min(used.size(), most_blocks);
  RatioBlocks blocks(ratios.size());
  for (size_t k = 0; k < ratios.size(); ++k) {
    blocks[k].factor = ratios[k].factor;
    blocks[k].numerator.resize(size);
    blocks[k].denominator.resize(size);
    for (size_t i = 0; i < used.size(); ++i) {
      const std::span<const double> group = sums.group(used[i]);
      blocks[k].numerator[i % size] += Apply(ratios[k].numerator, group);
      blocks[k].denominator[i % size] += Apply(ratios[k].denominator, group);
    }
  }
  return blocks;
}

double EffectiveGroups(const GroupSums& sums, const SumFunction& count) {
  double sum = 0;
  double squares = 0;
  for (size_t g = 0; g < sums.num_groups(); ++g) {
    if (!sums.is_used(g)) continue;
    const double size = Apply(count, sums.group(g));
    sum += size;
    squares += size * size;
  }
  return squares > 0 ? sum * sum / squares : 0;
}

bool IsNearlyNormal(const GroupSums& sums, std::span<const Ratio> ratios) {
  constexpr double kMostSquaredSkewness = 0.02;
  constexpr double kLargestShare = 0.1;
  if (ratios.empty()) return false;
  const Deviations deviations =
      DeviationsOf(MakeBlocks(sums, ratios, sums.num_groups()));
  return deviations.is_known &&
         static_cast<double>(deviations.blocks.size()) >= kFewestGroups &&
         deviations.SquaredSkewness() <= kMostSquaredSkewness &&
         deviations.LargestShare() <= kLargestShare;
}

}  // namespace sortition
