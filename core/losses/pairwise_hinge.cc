#include "core/losses/pairwise_hinge.h"

#include <algorithm>
#include <numeric>

namespace sortition {

uint64_t CountPairs(std::span<const uint32_t> relevances) {
  std::vector<uint32_t> sorted(relevances.begin(), relevances.end());
  std::sort(sorted.begin(), sorted.end());
  const uint64_t n = sorted.size();
  uint64_t pairs = n * (n - 1) / 2;
  if (n == 0) return 0;
  for (uint64_t begin = 0, end = 0; begin < n; begin = end) {
    while (end < n && sorted[end] == sorted[begin]) ++end;
    pairs -= (end - begin) * (end - begin - 1) / 2;
  }
  return pairs;
}

void PairwiseHinge::Counts::Add(size_t index) {
  for (size_t i = index + 1; i < tree_.size(); i += i & -i) ++tree_[i];
}

uint32_t PairwiseHinge::Counts::Below(size_t index) const {
  uint32_t count = 0;
  for (size_t i = index; i > 0; i -= i & -i) count += tree_[i];
  return count;
}

void PairwiseHinge::RankLevels(std::span<const uint32_t> relevances) {
  levels_.assign(relevances.begin(), relevances.end());
  std::sort(levels_.begin(), levels_.end());
  levels_.erase(std::unique(levels_.begin(), levels_.end()), levels_.end());
  level_.resize(relevances.size());
  for (size_t i = 0; i < relevances.size(); ++i) {
    level_[i] = static_cast<uint32_t>(
        std::lower_bound(levels_.begin(), levels_.end(), relevances[i]) -
        levels_.begin());
  }
}

// The pair (i, j) is active if s_j > s_i - 1. The counts for i and for j
// compare with the same rounded s_i - 1, which is monotone in s_i, so that each
// active pair is counted either for both items or for none.
PairwiseHinge::Sum PairwiseHinge::Evaluate(std::span<const double> scores,
                                           std::span<const uint32_t> relevances,
                                           std::span<double> slopes) {
  const size_t n = scores.size();
  RankLevels(relevances);
  order_.resize(n);
  std::iota(order_.begin(), order_.end(), 0u);
  std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
    return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
  });
  Sum sum;
  // As s_i decreases, more s_j are above s_i - 1.
  counts_.Clear(levels_.size());
  for (size_t r = 0, added = 0; r < n; ++r) {
    const uint32_t i = order_[r];
    for (; added < n && scores[order_[added]] > scores[i] - 1; ++added) {
      counts_.Add(level_[order_[added]]);
    }
    const uint32_t below = counts_.Below(level_[i]);
    sum.num_active += below;
    slopes[i] = -static_cast<double>(below);
  }
  // As s_j increases, more s_i - 1 are below s_j. Here levels are counted from
  // the highest.
  counts_.Clear(levels_.size());
  const auto from_above = [&](uint32_t item) {
    return levels_.size() - 1 - level_[item];
  };
  for (size_t r = n, added = n; r-- > 0;) {
    const uint32_t j = order_[r];
    for (; added > 0 && scores[order_[added - 1]] - 1 < scores[j]; --added) {
      counts_.Add(from_above(order_[added - 1]));
    }
    slopes[j] += counts_.Below(from_above(j));
  }
  sum.value = std::inner_product(scores.begin(), scores.end(), slopes.begin(),
                                 sum.num_active);
  return sum;
}

}  // namespace sortition
