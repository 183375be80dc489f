// Computes the probabilities of the outcomes of SlotSampler by replaying its
// coins.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.h"
#include "core/base/log_mixture.h"
#include "core/games/sampling/slot_sampler.h"

namespace sortition {
namespace {

// The label of slots that the outcome does not show.
constexpr uint32_t kHidden = std::numeric_limits<uint32_t>::max();

}  // namespace

// In this file slots_ has the slot of each place, and observed_ the label of
// each place that the outcome shows: the slot in lists, the first slot of the
// block in sets.

// Fills observed_. Returns how many of the first slots hold items that can
// reach them within their blocks.
uint32_t SlotSampler::ObserveOutcome(std::span<const int32_t> outcome) {
  observed_.assign(num_used_, kHidden);
  if (outcome.size() != num_shown_) return 0;
  size_t b = 0;
  for (uint32_t r = 0; r < num_shown_; ++r) {
    if (r >= blocks_[b].end) ++b;
    if (outcome[r] < 0 || static_cast<size_t>(outcome[r]) >= places_.size()) {
      return r;
    }
    const uint32_t place = places_[static_cast<size_t>(outcome[r])];
    if (place >= num_used_ || observed_[place] != kHidden) return r;
    if (view_ == SlotView::kSet) {
      observed_[place] = 0;
      continue;
    }
    if (place < blocks_[b].begin || place >= blocks_[b].end) return r;
    observed_[place] = r;
  }
  return num_shown_;
}

// Writes the log-probability, by the coins, of each shown slot of a list given
// those above into `logs`, or that of the set into logs[0]. Returns how many
// slots are possible.
//
// A coin between slots s < t belongs to slot s. It matters as soon as slot s is
// shown, and then has the same effect whatever else is shown. If the outcome
// contradicts a coin or the final places, it does so from some slot on. The
// replay continues as if nothing were shown from there.
uint32_t SlotSampler::Replay(const Block& block, uint32_t end_shown,
                             std::span<double> logs) {
  constexpr double kSmall = 0x1p-500;
  const bool list = view_ == SlotView::kList;
  uint32_t limit = end_shown;
  const auto label = [&](uint32_t slot) {
    return slot >= limit ? kHidden : list ? slot : 0;
  };
  const auto shown = [&](uint32_t place) {
    return observed_[place] < limit ? observed_[place] : kHidden;
  };
  const uint32_t first = list ? block.begin : 0;
  products_.assign(logs.size(), 1);
  std::fill(logs.begin(), logs.end(), 0);
  for (uint32_t i = block.begin; i < block.end; ++i) slots_[i] = i;
  for (uint32_t c = block.first_coin; c < block.end_coin; ++c) {
    const Coin& coin = coins_[c];
    const uint32_t final_place = coin.giver_is_final ? coin.giver : coin.taker;
    const uint32_t other_place = coin.giver_is_final ? coin.taker : coin.giver;
    const uint32_t s = slots_[final_place];
    const uint32_t t = slots_[other_place];
    if (shown(final_place) != label(s) && shown(final_place) != label(t)) {
      if (!list) return 0;
      limit = std::min(observed_[final_place], std::max(s, t));
    }
    if (label(s) == label(t)) continue;
    const bool swapped = shown(final_place) == label(t);
    double& product = products_[std::min(label(s), label(t)) - first];
    product *= swapped ? coin.swap : 1 - coin.swap;
    if (product < kSmall) {
      logs[std::min(label(s), label(t)) - first] += stable::Log(product);
      product = 1;
    }
    if (swapped) std::swap(slots_[final_place], slots_[other_place]);
  }
  for (uint32_t i = block.begin; i < block.end; ++i) {
    if (shown(i) == label(slots_[i])) continue;
    if (!list) return 0;
    limit = std::min(observed_[i], slots_[i]);
  }
  for (size_t i = 0; i < logs.size(); ++i) {
    logs[i] += stable::Log(products_[i]);
  }
  return limit;
}

void SlotSampler::CoinLogPropensities(const Block& block, uint32_t end_shown,
                                      std::span<double> logs) {
  if (block.uniform == 1) {
    std::fill(logs.begin(), logs.end(), -HUGE_VAL);
    return;
  }
  const uint32_t possible = Replay(block, end_shown, logs);
  const uint32_t first = view_ == SlotView::kList ? block.begin : 0;
  for (size_t i = 0; i < logs.size(); ++i) {
    if (first + i >= possible) logs[i] = -HUGE_VAL;
  }
}

// `end_shown` is the end of the slots shown in this block.
double SlotSampler::BlockLogPropensity(const Block& block, uint32_t end_shown,
                                       std::span<double> conditionals) {
  const uint32_t size = block.end - block.begin;
  const uint32_t shown = end_shown - block.begin;
  if (view_ == SlotView::kList) {
    if (size == 1) return conditionals[0] = 0;
    CoinLogPropensities(block, end_shown, conditionals);
    double log_odds = 0;
    return MixWithUniformOrders(LogMixture(block.uniform), size, conditionals,
                                &log_odds);
  }
  const auto in_block = [this](uint32_t i) { return observed_[i] != kHidden; };
  uint32_t num_in = 0;
  for (uint32_t i = block.begin; i < block.end; ++i) num_in += in_block(i);
  if (num_in != shown) return -HUGE_VAL;
  if (shown == size) return 0;
  double log_p = 0;
  CoinLogPropensities(block, end_shown, {&log_p, 1});
  if (block.uniform == 0) return log_p;
  // -log of the number of subsets of `shown` of `size` items.
  double log_q = 0;
  for (uint32_t i = 0; i < std::min(shown, size - shown); ++i) {
    log_q -= stable::Log(static_cast<double>(size - i) / (i + 1));
  }
  return LogMixture(block.uniform)(log_p, log_q);
}

double SlotSampler::LogPropensity(std::span<const int32_t> outcome,
                                  std::vector<double>* conditionals) {
  CHECK(num_used_ > 0);
  slots_.resize(num_used_);
  const uint32_t end = ObserveOutcome(outcome);
  const bool list = view_ == SlotView::kList;
  if (list) conditionals->assign(num_shown_, -HUGE_VAL);
  if (!list && end < num_shown_) return -HUGE_VAL;
  double log_propensity = end < num_shown_ ? -HUGE_VAL : 0;
  for (const Block& block : blocks_) {
    if (block.begin >= end) break;
    const uint32_t end_shown = std::min(block.end, end);
    std::span<double> logs;
    if (list) {
      logs = std::span(*conditionals)
                 .subspan(block.begin, end_shown - block.begin);
    }
    log_propensity += BlockLogPropensity(block, end_shown, logs);
  }
  return log_propensity;
}

// Starts with item i in slot i. Each coin then mixes the rows of its two items.
void SlotSampler::BlockMarginals(const Block& block, uint32_t end_slot,
                                 uint32_t stride,
                                 std::span<double> probabilities) {
  const uint32_t size = end_slot - block.begin;
  const auto row = [&](uint32_t place) {
    return probabilities.subspan(
        static_cast<size_t>(order_[place]) * stride + block.begin, size);
  };
  for (uint32_t i = block.begin; i < end_slot; ++i) row(i)[i - block.begin] = 1;
  for (uint32_t c = block.first_coin; c < block.end_coin; ++c) {
    const std::span<double> giver = row(coins_[c].giver);
    const std::span<double> taker = row(coins_[c].taker);
    const double p = coins_[c].swap;
    for (uint32_t s = 0; s < size; ++s) {
      const double of_giver = giver[s];
      giver[s] = (1 - p) * of_giver + p * taker[s];
      taker[s] = (1 - p) * taker[s] + p * of_giver;
    }
  }
  const double uniform = block.uniform / (block.end - block.begin);
  for (uint32_t i = block.begin; i < block.end; ++i) {
    for (double& p : row(i)) p = (1 - block.uniform) * p + uniform;
  }
}

void SlotSampler::PositionMarginals(std::span<double> probabilities) {
  CHECK(num_used_ > 0 && probabilities.size() == order_.size() * num_shown_);
  std::fill(probabilities.begin(), probabilities.end(), 0);
  for (const Block& block : blocks_) {
    BlockMarginals(block, std::min(block.end, num_shown_), num_shown_,
                   probabilities);
  }
}

void SlotSampler::FirstProbabilities(std::span<double> probabilities) {
  CHECK(num_used_ > 0 && probabilities.size() == order_.size());
  std::fill(probabilities.begin(), probabilities.end(), 0);
  BlockMarginals(blocks_.front(), 1, 1, probabilities);
}

}  // namespace sortition
