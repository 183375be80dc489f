#include "core/aggregation/tied_orders.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "core/aggregation/order.h"
#include "core/metrics/pair_metrics.h"

namespace sortition {
namespace {

// A difference that is smaller than this share of the largest score is due to
// rounding in a mean.
constexpr double kTieTolerance = 1e-12;

// Returns the end of the run of tied items that starts at `begin` in an order
// by decreasing score.
size_t EndOfTie(std::span<const double> x, std::span<const uint32_t> order,
                size_t begin) {
  const double largest =
      std::max(std::abs(x[order.front()]), std::abs(x[order.back()]));
  size_t end = begin + 1;
  while (end < order.size() &&
         x[order[begin]] - x[order[end]] <= kTieTolerance * largest) {
    ++end;
  }
  return end;
}

// Returns for each item the number of its group of tied items; the best group
// is 0.
std::vector<uint32_t> Ties(std::span<const double> x) {
  const Order order = OrderOf(x);
  std::vector<uint32_t> ties(x.size());
  uint32_t tie = 0;
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end, ++tie) {
    end = EndOfTie(x, order, begin);
    for (size_t r = begin; r < end; ++r) ties[order[r]] = tie;
  }
  return ties;
}

// Returns the number of pairs of equal keys.
template <typename Key>
double EqualPairs(std::vector<Key> keys) {
  std::sort(keys.begin(), keys.end());
  double pairs = 0;
  for (size_t begin = 0, end = 0; begin < keys.size(); begin = end) {
    while (end < keys.size() && keys[end] == keys[begin]) ++end;
    const auto equal = static_cast<double>(end - begin);
    pairs += equal * (equal - 1) / 2;
  }
  return pairs;
}

}  // namespace

void MeanSubgradient(const BlockFunction& f, std::span<const double> x,
                     std::span<double> h) {
  for (size_t b = 0; b < f.num_blocks(); ++b) {
    const size_t begin = f.begin(b), size = f.begin(b + 1) - begin;
    f.block(b).TiedSubgradient(Ties(x.subspan(begin, size)),
                               h.subspan(begin, size));
  }
}

double TiedKendallDistance(std::span<const double> a,
                           std::span<const double> b) {
  const std::vector<uint32_t> in_a = Ties(a);
  const std::vector<uint32_t> in_b = Ties(b);
  // Ties in one vector are broken by the other, so that they are not
  // inversions.
  Order by_a(a.size());
  std::iota(by_a.begin(), by_a.end(), 0u);
  Order by_b = by_a;
  std::vector<std::pair<uint32_t, uint32_t>> both;
  for (size_t i = 0; i < a.size(); ++i) both.emplace_back(in_a[i], in_b[i]);
  std::sort(by_a.begin(), by_a.end(), [&](uint32_t i, uint32_t j) {
    return std::tie(in_a[i], in_b[i], i) < std::tie(in_a[j], in_b[j], j);
  });
  std::sort(by_b.begin(), by_b.end(), [&](uint32_t i, uint32_t j) {
    return std::tie(in_b[i], in_a[i], i) < std::tie(in_b[j], in_a[j], j);
  });
  const double tied = EqualPairs(in_a) + EqualPairs(in_b) - EqualPairs(both);
  return static_cast<double>(KendallDistance(by_a, by_b)) + tied / 2;
}

}  // namespace sortition
