#pragma once
// Oracles for lotteries over slots: enumerated outcomes, and expected discounts
// that are feasible.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/base/random.h"
#include "core/games/sampling/slot_sampler.h"

namespace sortition {

using Outcome = std::vector<int32_t>;

// Discounts, feasible expected discounts, and the items by falling expected
// discount.
struct Lottery {
  std::vector<double> discounts;
  std::vector<double> expected;
  std::vector<int32_t> order;
  std::vector<uint32_t> block_begins;

  SlotTargets Targets(SlotView view, uint32_t num_shown,
                      double block_mixing) const {
    return {discounts, expected,  order,       block_begins,
            view,      num_shown, block_mixing};
  }
};

inline std::vector<int32_t> Descending(const std::vector<double>& values) {
  std::vector<int32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return values[a] > values[b]; });
  return order;
}

// Expected discounts of a random mixture of `orders` random orders, all of
// which leave the first `fixed` items in place.
inline Lottery RandomLottery(std::vector<double> discounts, int orders,
                             uint32_t fixed, RandomSequence* random) {
  const size_t n = discounts.size();
  Lottery lottery{.discounts = std::move(discounts),
                  .expected = std::vector<double>(n, 0),
                  .order = {},
                  .block_begins = {}};
  std::vector<double> weights(orders);
  double total = 0;
  for (double& weight : weights) total += weight = random->Uniform();
  for (const double weight : weights) {
    std::vector<uint32_t> slots(n);
    std::iota(slots.begin(), slots.end(), 0u);
    for (size_t i = fixed; i + 1 < n; ++i) {
      std::swap(slots[i], slots[i + random->Below(n - i)]);
    }
    for (size_t i = 0; i < n; ++i) {
      lottery.expected[i] += weight / total * lottery.discounts[slots[i]];
    }
  }
  lottery.order = Descending(lottery.expected);
  return lottery;
}

inline std::vector<double> DcgDiscounts(size_t n, size_t cutoff) {
  std::vector<double> discounts(n, 0);
  for (size_t r = 0; r < std::min(n, cutoff); ++r) {
    discounts[r] = 1 / std::log2(static_cast<double>(r) + 2);
  }
  return discounts;
}

inline std::vector<double> PrecisionDiscounts(size_t n, size_t cutoff) {
  std::vector<double> discounts(n, 0);
  std::fill_n(discounts.begin(), cutoff, 1.0 / static_cast<double>(cutoff));
  return discounts;
}

inline void AppendOutcomes(SlotView view, size_t n, uint32_t k, Outcome* prefix,
                           std::vector<Outcome>* outcomes) {
  if (prefix->size() == k) {
    outcomes->push_back(*prefix);
    return;
  }
  const bool ascending = view == SlotView::kSet && !prefix->empty();
  for (int32_t i = ascending ? prefix->back() + 1 : 0;
       i < static_cast<int32_t>(n); ++i) {
    if (std::find(prefix->begin(), prefix->end(), i) != prefix->end()) continue;
    prefix->push_back(i);
    AppendOutcomes(view, n, k, prefix, outcomes);
    prefix->pop_back();
  }
}

// All lists or sets of k out of n items.
inline std::vector<Outcome> AllOutcomes(SlotView view, size_t n, uint32_t k) {
  std::vector<Outcome> outcomes;
  Outcome prefix;
  AppendOutcomes(view, n, k, &prefix, &outcomes);
  return outcomes;
}

}  // namespace sortition
