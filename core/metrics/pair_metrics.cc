#include "core/metrics/pair_metrics.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace sortition {
namespace {

// Sorts `values` and returns how many pairs were out of order.
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

double AreaUnderRoc(std::span<const uint8_t> good) {
  uint64_t goods = 0;
  uint64_t right_pairs = 0;
  for (const uint8_t is_good : good) {
    if (is_good != 0) {
      ++goods;
    } else {
      right_pairs += goods;
    }
  }
  const uint64_t pairs = goods * (good.size() - goods);
  if (pairs == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(right_pairs) / static_cast<double>(pairs);
}

}  // namespace sortition
