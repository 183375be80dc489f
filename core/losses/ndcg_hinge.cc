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

// best(h, l) is the largest value of the ranks from h + l on, after h items of
// the high label and l of the low one have been placed.
void NdcgHinge::Merge(std::span<const double> scores,
                      std::span<const double> gains, size_t num_high) {
  const size_t num_low = n_ - num_high;
  choice_.resize((num_high + 1) * (num_low + 1));
  best_.assign(num_low + 1, 0);  // best(h + 1, .), then best(h, .).
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

// From the first rank on, each rank gets the item with the largest k(rank)
// among the first remaining items of all labels. From the last rank on, it gets
// the item with the least k(rank - 1) among the last remaining ones. If the
// price difference of two ranks is between the k of their items, neither item
// gains by changing.
double NdcgHinge::FillRanks(std::span<const double> scores,
                            std::span<const double> gains, bool from_last,
                            std::vector<uint32_t>* order) {
  begins_.clear();
  ends_.clear();
  for (uint32_t i = 0; i < n_; ++i) {
    if (i > 0 && gains[items_[i]] == gains[items_[i - 1]]) continue;
    if (i > 0) ends_.push_back(i);
    begins_.push_back(i);
  }
  ends_.push_back(static_cast<uint32_t>(n_));
  order->resize(n_);
  double value = 0;
  for (size_t filled = 0; filled < n_; ++filled) {
    const size_t rank = from_last ? n_ - 1 - filled : filled;
    const size_t step =
        std::min(from_last ? std::max(rank, size_t{1}) - 1 : rank, n_ - 2);
    double best = -HUGE_VAL;
    size_t label = 0;
    for (size_t l = 0; l < begins_.size(); ++l) {
      if (begins_[l] == ends_[l]) continue;
      const uint32_t item = items_[from_last ? ends_[l] - 1 : begins_[l]];
      const double k = StepDown(scores[item], gains[item], step);
      const double merit = from_last ? -k : k;
      if (merit <= best) continue;
      best = merit;
      label = l;
    }
    const uint32_t item = items_[from_last ? --ends_[label] : begins_[label]++];
    (*order)[rank] = item;
    value += static_cast<double>(n_ - rank) * scores[item] -
             discounts_[rank] * gains[item];
  }
  return value;
}

void NdcgHinge::Start(std::span<const double> scores,
                      std::span<const double> gains) {
  if (FillRanks(scores, gains, true, &other_order_) >
      FillRanks(scores, gains, false, &order_)) {
    order_.swap(other_order_);
  }
  ranks_.resize(n_);
  prices_.assign(n_, 0);
  for (size_t rank = 0; rank < n_; ++rank) {
    ranks_[order_[rank]] = static_cast<uint32_t>(rank);
  }
  for (size_t rank = 0; rank + 1 < n_; ++rank) {
    const uint32_t above = order_[rank];
    const uint32_t below = order_[rank + 1];
    prices_[rank + 1] =
        prices_[rank] + (StepDown(scores[above], gains[above], rank) +
                         StepDown(scores[below], gains[below], rank)) /
                            2;
  }
}

void NdcgHinge::Assign(std::span<const double> scores,
                       std::span<const double> gains) {
  Start(scores, gains);
  const auto costs = [&](size_t item, std::span<double> row) {
    const double score = scores[item];
    const double gain = gains[item];
    for (size_t rank = 0; rank < row.size(); ++rank) {
      row[rank] =
          discounts_[rank] * gain - static_cast<double>(n_ - rank) * score;
    }
  };
  assignment_.Solve(n_, costs, prices_, ranks_);
  // Items with equal labels and equal or nearly equal scores may be in another
  // order than in v̄: restore that order.
  places_.resize(n_);
  for (size_t begin = 0, end = 0; begin < n_; begin = end) {
    for (; end < n_ && gains[items_[end]] == gains[items_[begin]]; ++end) {
      places_[end] = assignment_.columns()[items_[end]];
    }
    std::sort(places_.begin() + static_cast<std::ptrdiff_t>(begin),
              places_.begin() + static_cast<std::ptrdiff_t>(end));
    for (size_t i = begin; i < end; ++i) order_[places_[i]] = items_[i];
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
