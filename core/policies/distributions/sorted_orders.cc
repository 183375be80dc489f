#include "core/policies/distributions/sorted_orders.h"

#include <algorithm>
#include <cmath>

#include "core/base/stable_math.h"
#include "core/policies/distributions/ranking_distribution.h"

namespace sortition {
namespace {

// Rounds p in [0, 1] to a multiple of 2^-52, the last place of the sum.
double OnGrid(double p) { return (1 + p) - 1; }

// Returns φ on a grid on which (1-φ)/2 is a multiple of 2^-52, too. What is
// possible remains so.
double ShuffleOnGrid(double probability) {
  if (probability == 0) return 0;
  return std::max(0x1p-51, 2 * OnGrid(probability / 2));
}

double LogOrImpossible(double p) { return p > 0 ? stable::Log(p) : -HUGE_VAL; }

// Returns 2 w σ(-x) for x >= 0.
double SwapProbability(double swap_probability, double x) {
  const double e = stable::Exp(-x);
  return OnGrid(swap_probability * (2 * e / (1 + e)));
}

}  // namespace

void SortedOrders::Build(const SortedLaw& law, std::span<const double> scores,
                         uint32_t top_k) {
  const auto m = static_cast<uint32_t>(scores.size());
  top_k_ = top_k;
  shuffle_ = ShuffleOnGrid(law.shuffle_probability);
  shuffle_ranks_ = shuffle_ > 0 ? std::min(law.shuffle_ranks, m) : 0;
  const double log_pairs = LogOrImpossible((1 - shuffle_) / 2);
  log_ways_ = {log_pairs, log_pairs, LogOrImpossible(shuffle_)};
  SortTop(scores, std::min(m, std::max(top_k + 1, shuffle_ranks_)), &sorted_);
  swaps_.assign(top_k, 0);
  for (size_t r = 0; r < top_k && r + 1 < m; ++r) {
    const double fall = scores[sorted_[r]] - scores[sorted_[r + 1]];
    swaps_[r] = SwapProbability(law.swap_probability, law.alpha * fall);
  }
  is_shuffled_.clear();
  if (shuffle_ranks_ == 0) return;
  is_shuffled_.resize(m);
  for (uint32_t r = 0; r < shuffle_ranks_; ++r) is_shuffled_[sorted_[r]] = 1;
}

void SortedOrders::Draw(const CounterRandom& random, uint32_t way_number,
                        uint32_t first_block, std::vector<int32_t>* order) {
  order->assign(sorted_.begin(), sorted_.begin() + top_k_);
  const double way = random.Uniform(way_number);
  if (way < shuffle_) {
    numbers_.resize(shuffle_ranks_);
    random.UniformBlocks(first_block, numbers_);
    SortTop(numbers_, std::min(top_k_, shuffle_ranks_), &shuffled_);
    for (size_t r = 0; r < shuffled_.size(); ++r) {
      (*order)[r] = sorted_[shuffled_[r]];
    }
    return;
  }
  // All of these are multiples of 2^-52, so the sum is exact.
  const size_t begin = way < shuffle_ + (1 - shuffle_) / 2 ? 0 : 1;
  numbers_.resize(top_k_);
  random.UniformBlocks(first_block, numbers_);
  for (size_t r = begin; r < top_k_; r += 2) {
    if (numbers_[r] >= swaps_[r]) continue;
    (*order)[r] = sorted_[r + 1];
    if (r + 1 < top_k_) (*order)[r + 1] = sorted_[r];
  }
}

double SortedOrders::LogNextOfPairs(size_t begin,
                                    std::span<const int32_t> order,
                                    size_t rank) const {
  const bool is_upper = rank >= begin && (rank - begin) % 2 == 0;
  if (is_upper) {
    if (order[rank] == sorted_[rank]) return stable::Log1p(-swaps_[rank]);
    // Where there is no rank below, the swap is impossible.
    return swaps_[rank] > 0 && order[rank] == sorted_[rank + 1]
               ? stable::Log(swaps_[rank])
               : -HUGE_VAL;
  }
  const bool swapped = rank > begin && order[rank - 1] != sorted_[rank - 1];
  const int32_t expected = swapped ? sorted_[rank - 1] : sorted_[rank];
  return order[rank] == expected ? 0 : -HUGE_VAL;
}

double SortedOrders::LogNext(size_t way, std::span<const int32_t> order,
                             size_t rank) const {
  if (way != kShuffle) return LogNextOfPairs(way, order, rank);
  if (rank >= shuffle_ranks_) {
    return order[rank] == sorted_[rank] ? 0 : -HUGE_VAL;
  }
  return is_shuffled_[order[rank]] != 0
             ? 0 - stable::Log(static_cast<double>(shuffle_ranks_ - rank))
             : -HUGE_VAL;
}

void SortedOrders::ConditionalLogPropensities(
    std::span<const int32_t> order, std::vector<double>* conditionals) const {
  conditionals->assign(order.size(), -HUGE_VAL);
  // Log-probabilities of the ways given the ranks above.
  std::array<double, kWays> ways = log_ways_;
  for (size_t r = 0; r < order.size(); ++r) {
    double sum = -HUGE_VAL;
    for (size_t way = 0; way < kWays; ++way) {
      if (ways[way] == -HUGE_VAL) continue;
      ways[way] += LogNext(way, order, r);
      sum = stable::LogAddExp(sum, ways[way]);
    }
    if (sum == -HUGE_VAL) return;
    for (double& way : ways) way -= sum;
    // Rounding could put it above 0.
    (*conditionals)[r] = std::min(sum, 0.0);
  }
}

void SortedOrders::AddFirstProbabilities(
    double scale, std::span<double> probabilities) const {
  const double swapped = (1 - shuffle_) / 2 * swaps_[0];
  probabilities[sorted_[0]] += scale * ((1 - shuffle_) - swapped);
  if (swapped > 0) probabilities[sorted_[1]] += scale * swapped;
  for (uint32_t r = 0; r < shuffle_ranks_; ++r) {
    probabilities[sorted_[r]] += scale * (shuffle_ / shuffle_ranks_);
  }
}

}  // namespace sortition
