#include "core/losses/ndcg_hinge.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sortition {

void NdcgHinge::SortItems(std::span<const double> scores,
                          std::span<const double> gains) {
  items_.resize(n_);
  std::iota(items_.begin(), items_.end(), 0);
  std::sort(items_.begin(), items_.end(), [&](uint32_t a, uint32_t b) {
    if (gains[a] != gains[b]) return gains[a] > gains[b];
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
}

// best(h, l): the most that ranks h + l and below can bring, h items of the
// high label and l of the low one placed.
void NdcgHinge::Merge(std::span<const double> scores,
                      std::span<const double> gains, size_t num_high) {
  const size_t num_low = n_ - num_high;
  choice_.resize((num_high + 1) * (num_low + 1));
  best_.assign(num_low + 1, 0);  // Of h + 1, then of h.
  const auto worth = [&](size_t place, size_t rank) {
    const uint32_t item = items_[place];
    return static_cast<double>(n_ - rank) * scores[item] -
           discounts_[rank] * gains[item];
  };
  for (size_t h = num_high + 1; h-- > 0;) {
    for (size_t l = num_low + 1; l-- > 0;) {
      const double high = h < num_high ? best_[l] + worth(h, h + l) : -HUGE_VAL;
      const double low =
          l < num_low ? best_[l + 1] + worth(num_high + l, h + l) : -HUGE_VAL;
      if (h == num_high && l == num_low) continue;
      choice_[h * (num_low + 1) + l] = high >= low ? 1 : 0;
      best_[l] = std::max(high, low);
    }
  }
  order_.resize(n_);
  size_t h = 0;
  for (size_t rank = 0; rank < n_; ++rank) {
    const size_t l = rank - h;
    const bool high = choice_[h * (num_low + 1) + l] != 0;
    order_[rank] = items_[high ? h : num_high + l];
    h += high ? 1 : 0;
  }
}

// Prices at which ranks are worth what lies between the scores that they have
// without a loss: then most items keep their rank.
void NdcgHinge::Assign(std::span<const double> scores,
                       std::span<const double> gains) {
  std::vector<uint32_t>& by_score = order_;
  by_score.resize(n_);
  std::iota(by_score.begin(), by_score.end(), 0);
  std::sort(by_score.begin(), by_score.end(), [&](uint32_t a, uint32_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
  prices_.assign(n_, 0);
  for (size_t rank = 1; rank < n_; ++rank) {
    prices_[rank] = prices_[rank - 1] +
                    (scores[by_score[rank - 1]] + scores[by_score[rank]]) / 2;
  }
  const auto costs = [&](size_t item, std::span<double> row) {
    const double score = scores[item];
    const double gain = gains[item];
    for (size_t rank = 0; rank < row.size(); ++rank) {
      row[rank] =
          discounts_[rank] * gain - static_cast<double>(n_ - rank) * score;
    }
  };
  assignment_.Solve(n_, costs, prices_);
  // Equal scores, or nearly so, may leave items of one label in another order
  // than v̄ has them.
  ranks_.resize(n_);
  for (size_t begin = 0, end = 0; begin < n_; begin = end) {
    for (; end < n_ && gains[items_[end]] == gains[items_[begin]]; ++end) {
      ranks_[end] = assignment_.columns()[items_[end]];
    }
    std::sort(ranks_.begin() + static_cast<std::ptrdiff_t>(begin),
              ranks_.begin() + static_cast<std::ptrdiff_t>(end));
    for (size_t i = begin; i < end; ++i) order_[ranks_[i]] = items_[i];
  }
}

NdcgHinge::Answer NdcgHinge::Evaluate(std::span<const double> scores,
                                      std::span<const double> gains,
                                      size_t cutoff, std::span<double> slopes) {
  n_ = scores.size();
  SortItems(scores, gains);
  discounts_.assign(n_, 0);
  const size_t ranks = cutoff == 0 ? n_ : std::min(cutoff, n_);
  double ideal = 0;
  for (size_t rank = 0; rank < ranks; ++rank) {
    discounts_[rank] = 1 / std::log2(static_cast<double>(rank) + 2);
    ideal += discounts_[rank] * gains[items_[rank]];
  }
  for (double& discount : discounts_) discount /= ideal > 0 ? ideal : 1;
  const auto low = std::find_if(items_.begin(), items_.end(), [&](uint32_t i) {
    return gains[i] < gains[items_.front()];
  });
  if (low == items_.end() || gains[*low] == gains[items_.back()]) {
    Merge(scores, gains, static_cast<size_t>(low - items_.begin()));
  } else {
    Assign(scores, gains);
  }
  Answer answer;
  double gain = 0;
  for (size_t rank = 0; rank < n_; ++rank) {
    const auto number = static_cast<double>(n_ - rank);
    slopes[order_[rank]] = number;
    gain += discounts_[rank] * gains[order_[rank]];
  }
  for (size_t i = 0; i < n_; ++i) {
    slopes[items_[i]] -= static_cast<double>(n_ - i);
  }
  answer.loss = ideal > 0 ? std::max(0.0, 1 - gain) : 0;
  answer.value = answer.loss;
  for (size_t i = 0; i < n_; ++i) answer.value += slopes[i] * scores[i];
  return answer;
}

}  // namespace sortition
