#include "core/metrics/pair_metrics.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "core/base/check.h"

namespace sortition {
namespace {

// Sorts `values` and returns the number of pairs that were out of order.
uint64_t SortAndCount(std::span<uint32_t> values, std::span<uint32_t> scratch) {
  const size_t n = values.size();
  if (n < 2) return 0;
  const size_t middle = n / 2;
  uint64_t inversions =
      SortAndCount(values.first(middle), scratch.first(middle)) +
      SortAndCount(values.subspan(middle), scratch.subspan(middle));
  size_t left = 0;
  size_t right = middle;
  for (size_t i = 0; i < n; ++i) {
    if (right == n || (left < middle && values[left] < values[right])) {
      scratch[i] = values[left++];
    } else {
      scratch[i] = values[right++];
      inversions += middle - left;
    }
  }
  std::copy(scratch.begin(), scratch.end(), values.begin());
  return inversions;
}

// Returns the number of pairs of different labels.
double DifferentPairs(std::span<const uint32_t> labels) {
  std::vector<uint32_t> sorted(labels.begin(), labels.end());
  std::sort(sorted.begin(), sorted.end());
  const auto pairs_of = [](auto size) {
    const auto n = static_cast<double>(size);
    return n * (n - 1) / 2;
  };
  double pairs = pairs_of(sorted.size());
  for (auto first = sorted.begin(); first != sorted.end();) {
    const auto last = std::upper_bound(first, sorted.end(), *first);
    pairs -= pairs_of(last - first);
    first = last;
  }
  return pairs;
}

}  // namespace

uint64_t KendallDistance(std::span<const uint32_t> a,
                         std::span<const uint32_t> b) {
  const size_t n = a.size();
  std::vector<uint32_t> rank_in_a(n);
  for (size_t r = 0; r < n; ++r) rank_in_a[a[r]] = static_cast<uint32_t>(r);
  std::vector<uint32_t> ranks(n);
  for (size_t r = 0; r < n; ++r) ranks[r] = rank_in_a[b[r]];
  std::vector<uint32_t> scratch(n);
  return SortAndCount(ranks, scratch);
}

double RightPairs(std::span<const double> scores,
                  std::span<const uint32_t> labels) {
  const size_t n = scores.size();
  CHECK(labels.size() == n);
  std::vector<uint32_t> by_label(n), by_score(n);
  std::iota(by_label.begin(), by_label.end(), 0u);
  by_score = by_label;
  double wrong = 0;
  for (const bool ties_are_wrong : {false, true}) {
    // Equal scores count as right in the first round and as wrong in the
    // second, which makes half in the mean. Pairs of equal labels have the same
    // order in both sorts, so that they are never counted as wrong.
    const auto above = [&](uint32_t i, uint32_t j) {
      if (scores[i] != scores[j]) return scores[i] > scores[j];
      if (labels[i] != labels[j]) {
        return ties_are_wrong ? labels[i] < labels[j] : labels[i] > labels[j];
      }
      return i < j;
    };
    std::sort(by_score.begin(), by_score.end(), above);
    std::sort(by_label.begin(), by_label.end(), [&](uint32_t i, uint32_t j) {
      return labels[i] != labels[j] ? labels[i] > labels[j] : above(i, j);
    });
    wrong += static_cast<double>(KendallDistance(by_score, by_label)) / 2;
  }
  return 1 - wrong / DifferentPairs(labels);
}

double KendallTauCost(std::span<const double> scores,
                      std::span<const uint32_t> labels) {
  const auto n = static_cast<double>(labels.size());
  if (n < 2) return 0;
  const double pairs = n * (n - 1) / 2;
  const double different = DifferentPairs(labels);
  const double wrong =
      different > 0 ? (1 - RightPairs(scores, labels)) * different : 0;
  return (wrong + (pairs - different) / 2) / pairs;
}

}  // namespace sortition
