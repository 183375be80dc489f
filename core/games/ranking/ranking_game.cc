#include "core/games/ranking/ranking_game.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// If at most 1 in this many ranks is worth something, taking the best items one
// by one from a heap is faster than sorting all.
constexpr size_t kHeapFactor = 4;

}  // namespace

absl::Status CheckPotentials(std::span<const double> psi) {
  // Counting needs no branch; searching would.
  size_t outside = 0;
  for (const double value : psi) {
    outside += std::abs(value) <= kMaxPotential ? 0 : 1;
  }
  if (outside == 0) return absl::OkStatus();
  size_t i = 0;
  while (std::abs(psi[i]) <= kMaxPotential) ++i;
  return absl::InvalidArgumentError(absl::StrCat(
      "psi[", i, "] is ", psi[i], ", must be from -1e300 to 1e300"));
}

absl::Status CheckPositives(const PositivesBound& positives, size_t num_items) {
  const auto n = static_cast<double>(num_items);
  const auto [fewest, most] = positives;
  if (!(fewest >= 0 && fewest <= n)) {
    return absl::InvalidArgumentError(
        absl::StrCat("positives.fewest is ", fewest,
                     ", must be from 0 to the number of items, ", num_items));
  }
  if (!(most >= fewest && (most <= n || most == HUGE_VAL))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "positives.most is ", most, ", must be from positives.fewest, ", fewest,
        ", to the number of items, ", num_items, ", or infinite"));
  }
  return absl::OkStatus();
}

// Compares v of the last block with v of the new one by means of differences: v
// = first - ψ_start, where ψ may be so large that it would swallow the
// discounts.
bool RankingGame::MustPool(size_t rank, double first) const {
  const Block& last = blocks_.back();
  return last.first - first >= items_[last.start].psi - items_[rank].psi;
}

void RankingGame::Append(size_t rank, double discount) {
  Block block{.start = static_cast<int32_t>(rank),
              .length = 1,
              .discounts = discount,
              .drops = 0,
              .first = discount};
  while (!blocks_.empty() && MustPool(block.start, block.first)) {
    const Block& last = blocks_.back();
    block.drops += last.drops + block.length * (items_[last.start].psi -
                                                items_[block.start].psi);
    block.discounts += last.discounts;
    block.start = last.start;
    block.length += last.length;
    block.first = (block.discounts + block.drops) / block.length;
    blocks_.pop_back();
  }
  blocks_.push_back(block);
}

// Beyond the discounts v = -ψ rises by rank. Once an item there is not pooled,
// no later one is, and the rest has d = 0. With few discounts that rest is not
// sorted.
void RankingGame::Pool(const Discounts& discounts) {
  const bool by_heap = kHeapFactor * discounts.size() <= items_.size();
  const auto top_last = [](const KeyedItem& a, const KeyedItem& b) {
    return Before()(b, a);
  };
  // The heap is stored from the last item to the first, so that its top moves
  // to the front.
  if (by_heap) {
    std::make_heap(items_.rbegin(), items_.rend(), top_last);
  } else {
    SortItems(&items_, &buffer_);
  }
  for (size_t rank = 0; rank < items_.size(); ++rank) {
    if (by_heap) {
      std::pop_heap(items_.rbegin(),
                    items_.rend() - static_cast<std::ptrdiff_t>(rank),
                    top_last);
    }
    if (rank >= discounts.size() && (blocks_.empty() || !MustPool(rank, 0))) {
      return;
    }
    Append(rank, discounts[rank]);
  }
}

void RankingGame::WritePredictor(const Discounts& discounts,
                                 RankingEquilibrium* equilibrium) const {
  std::vector<double>& d = equilibrium->expected_discounts;
  d.assign(items_.size(), 0);
  equilibrium->blocks.clear();
  for (const Block& block : blocks_) {
    const double psi_start = items_[block.start].psi;
    equilibrium->blocks.push_back(
        {.start = block.start,
         .length = block.length,
         .mean_discount = block.discounts / block.length,
         .excess = block.first - psi_start});
    // In exact arithmetic d is within these bounds; rounding must not put it
    // outside.
    const double most = discounts[block.start];
    const double least = discounts[block.start + block.length - 1];
    for (int32_t r = block.start; r < block.start + block.length; ++r) {
      d[items_[r].item] =
          std::clamp(block.first - (psi_start - items_[r].psi), least, most);
    }
  }
}

// Takes the m items of smallest v, where m is as close as permitted to the
// number of v < 0. If m ends within a block, its items share what is left.
void RankingGame::WriteAdversary(const PositivesBound& positives,
                                 RankingEquilibrium* equilibrium) {
  const auto n = static_cast<double>(items_.size());
  int32_t num_pooled = 0;
  int32_t num_negative = 0;
  for (const Block& block : blocks_) {
    num_pooled += block.length;
    if (block.first < items_[block.start].psi) num_negative += block.length;
  }
  const std::span<KeyedItem> rest(items_.begin() + num_pooled, items_.end());
  if (num_negative == num_pooled) {
    for (const KeyedItem& item : rest) num_negative += item.psi > 0 ? 1 : 0;
  }
  const double num_positives =
      std::clamp(static_cast<double>(num_negative), positives.fewest,
                 std::min(positives.most, n));
  std::vector<double>& q = equilibrium->positive_probabilities;
  q.resize(items_.size());
  double left = num_positives;
  equilibrium->value = 0;
  for (const PooledBlock& block : equilibrium->blocks) {
    const double in_block = std::min<double>(left, block.length);
    left -= in_block;
    if (in_block > 0) equilibrium->value += block.excess * in_block;
    for (int32_t r = block.start; r < block.start + block.length; ++r) {
      q[items_[r].item] = in_block / block.length;
    }
  }
  equilibrium->value -= ShareAmongLargest(rest, left, q);
}

absl::Status RankingGame::Solve(std::span<const double> psi,
                                const Discounts& discounts,
                                const PositivesBound& positives,
                                RankingEquilibrium* equilibrium) {
  RETURN_IF_ERROR(CheckPotentials(psi));
  RETURN_IF_ERROR(CheckPositives(positives, psi.size()));
  items_.resize(psi.size());
  for (size_t i = 0; i < psi.size(); ++i) {
    items_[i] = {psi[i], static_cast<int32_t>(i)};
  }
  blocks_.clear();
  Pool(discounts);
  WritePredictor(discounts, equilibrium);
  WriteAdversary(positives, equilibrium);
  equilibrium->order.resize(psi.size());
  for (size_t r = 0; r < psi.size(); ++r) {
    equilibrium->order[r] = items_[r].item;
  }
  return absl::OkStatus();
}

}  // namespace sortition
