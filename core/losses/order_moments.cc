#include "core/losses/order_moments.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/base/check.h"

namespace sortition {
namespace {

// The largest range of scores for which sums stay in the range of doubles. Sums
// are relative to the best order, by decreasing score: above_ is at most n!,
// and below_ at most n! exp(k a_k · spread) after a set of k items, where k a_k
// < 1.6. The products that matter neither overflow nor underflow.
constexpr double kMostSpread = 300;

}  // namespace

void SortFalling(std::span<const double> values, std::span<double> sorted) {
  for (size_t i = 0; i < values.size(); ++i) {
    size_t place = i;
    for (; place > 0 && sorted[place - 1] < values[i]; --place) {
      sorted[place] = sorted[place - 1];
    }
    sorted[place] = values[i];
  }
}

void OrderMoments::Prepare(size_t n) {
  if (n == n_) return;
  n_ = n;
  steps_.clear();
  for (uint32_t set = 0; set < 1u << n; ++set) {
    for (uint32_t item = 0; item < n; ++item) {
      if ((set >> item & 1) != 0) continue;
      steps_.push_back({static_cast<uint8_t>(set),
                        static_cast<uint8_t>(set | 1u << item),
                        static_cast<uint8_t>(std::popcount(set)),
                        static_cast<uint8_t>(item)});
    }
  }
  std::stable_sort(
      steps_.begin(), steps_.end(),
      [](const Step& a, const Step& b) { return a.rank < b.rank; });
}

double OrderMoments::Evaluate(std::span<const double> rank_weights,
                              std::span<const double> scores,
                              std::span<double> means) {
  const size_t n = scores.size();
  DCHECK(n >= 1 && n <= kMaxItems);
  std::array<double, kMaxItems> sorted;
  SortFalling(scores, {sorted.data(), n});
  if (!(sorted[0] - sorted[n - 1] < kMostSpread)) {
    orders_.Build(rank_weights, scores);
    orders_.ExpectedRankWeights(means);
    return orders_.LogPartition();
  }
  Prepare(n);
  double best = 0;
  for (size_t rank = 0; rank < n; ++rank) {
    best += rank_weights[rank] * sorted[rank];
    for (size_t item = 0; item < n; ++item) {
      factor_[rank * kMaxItems + item] =
          std::exp(rank_weights[rank] * (scores[item] - sorted[rank]));
    }
  }
  const size_t all = (size_t{1} << n) - 1;
  std::fill_n(above_.begin(), all + 1, 0);
  std::fill_n(below_.begin(), all + 1, 0);
  above_[0] = 1;
  below_[all] = 1;
  for (const Step& step : steps_) {
    above_[step.after] +=
        above_[step.before] * factor_[step.rank * kMaxItems + step.item];
  }
  const double sum = above_[all];
  std::fill(means.begin(), means.end(), 0);
  for (size_t k = steps_.size(); k-- > 0;) {
    const Step step = steps_[k];
    const double rest =
        factor_[step.rank * kMaxItems + step.item] * below_[step.after];
    below_[step.before] += rest;
    means[step.item] += rank_weights[step.rank] * (above_[step.before] * rest);
  }
  for (double& mean : means) mean /= sum;
  return best + std::log(sum);
}

}  // namespace sortition
