#include "core/games/sampling/slot_sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/games/sampling/probability_grid.h"

namespace sortition {
namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

// As a share of D_0: smaller differences are rounding errors. That of d, which
// comes from pooling, is a few 2^-52.
constexpr double kNegligible = 0x1p-48;
// As a share of D_0, for blocks of up to kManyPlaces places (rounding errors
// add up): if d exceeds D by more, it is a mistake and not rounding.
constexpr double kReach = 1e-9;
constexpr double kManyPlaces = 1e4;

absl::Status Bad(const char* field, const auto& value, const auto& range) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", value, ", must be ", range));
}

absl::Status CheckSizes(const SlotTargets& targets) {
  const size_t n = targets.order.size();
  if (n == 0 || n > std::numeric_limits<int32_t>::max()) {
    return Bad("size of order", n, "in [1, 2^31)");
  }
  if (targets.expected_discounts.size() != n) {
    return Bad("size of expected_discounts", targets.expected_discounts.size(),
               absl::StrCat(n, ", as of order"));
  }
  if (targets.num_shown < 1 || targets.num_shown > n) {
    return Bad("num_shown", targets.num_shown, absl::StrCat("in [1, ", n, "]"));
  }
  if (!(targets.block_mixing >= 0 && targets.block_mixing <= 1)) {
    return Bad("block_mixing", targets.block_mixing, "in [0, 1]");
  }
  double most = std::numeric_limits<double>::max();
  for (size_t r = 0; r < targets.discounts.size(); ++r) {
    const double discount = targets.discounts[r];
    if (!(discount >= 0 && discount <= most)) {
      return Bad(absl::StrCat("discounts[", r, "]").c_str(), discount,
                 absl::StrCat("in [0, ", most, "]"));
    }
    most = discount;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SlotSampler::Validate(const SlotTargets& targets) {
  RETURN_IF_ERROR(CheckSizes(targets));
  const size_t n = targets.order.size();
  places_.assign(n, kNone);
  targets_.resize(n);
  for (size_t place = 0; place < n; ++place) {
    const int32_t item = targets.order[place];
    if (item < 0 || static_cast<size_t>(item) >= n || places_[item] != kNone) {
      return Bad(absl::StrCat("order[", place, "]").c_str(), item,
                 absl::StrCat("in [0, ", n, ") and named once"));
    }
    places_[item] = static_cast<uint32_t>(place);
    targets_[place] = targets.expected_discounts[item];
    if (!std::isfinite(targets_[place])) {
      return Bad(absl::StrCat("expected_discounts[", item, "]").c_str(),
                 targets_[place], "finite");
    }
  }
  const std::span<const uint32_t> begins = targets.block_begins;
  for (size_t b = 0; b < begins.size(); ++b) {
    if (b == 0 ? begins[0] == 0 : begins[b] > begins[b - 1] && begins[b] < n) {
      continue;
    }
    return Bad(absl::StrCat("block_begins[", b, "]").c_str(), begins[b],
               b == 0 ? std::string("0")
                      : absl::StrCat("in (", begins[b - 1], ", ", n, ")"));
  }
  return absl::OkStatus();
}

// Fills `blocks_` up to the last block that shows a slot.
void SlotSampler::FindBlocks(std::span<const uint32_t> begins) {
  const auto n = static_cast<uint32_t>(targets_.size());
  blocks_.clear();
  uint32_t end = 0;
  for (size_t b = 0; b < begins.size() && end < num_shown_; ++b) {
    end = b + 1 < begins.size() ? begins[b + 1] : n;
    blocks_.push_back({begins[b], end, 0, 0, 0});
  }
  double gap = 0;
  for (uint32_t place = end; place < n && end < num_shown_; ++place) {
    gap += discounts_[place] - targets_[place];
    if (std::abs(gap) > negligible_ && place + 1 < n) continue;
    blocks_.push_back({end, place + 1, 0, 0, 0});
    end = place + 1;
    gap = 0;
  }
}

absl::Status SlotSampler::CheckBlock(const Block& block) const {
  const double reach = kReach * discounts_.front() *
                       std::max(1.0, (block.end - block.begin) / kManyPlaces);
  double gap = 0;
  for (uint32_t place = block.begin; place < block.end; ++place) {
    if (place > block.begin && targets_[place] > targets_[place - 1]) {
      return Bad(absl::StrCat("order[", place, "]").c_str(), order_[place],
                 "an item of no larger expected discount than the one before");
    }
    gap += targets_[place] - discounts_[place];
    if (gap <= reach && (place + 1 < block.end || gap >= -reach)) continue;
    return Bad("sum of expected_discounts", absl::StrCat("by ", gap, " larger"),
               absl::StrCat("at most that of discounts at place ", place,
                            ", and the same at the end of a block"));
  }
  return absl::OkStatus();
}

absl::Status SlotSampler::Build(const SlotTargets& targets) {
  num_used_ = 0;  // Nothing can be drawn until this has succeeded.
  RETURN_IF_ERROR(Validate(targets));
  const size_t n = targets.order.size();
  view_ = targets.view;
  num_shown_ = targets.num_shown;
  order_.assign(targets.order.begin(), targets.order.end());
  discounts_.assign(n, 0);
  std::copy_n(targets.discounts.begin(), std::min(n, targets.discounts.size()),
              discounts_.begin());
  negligible_ = kNegligible * discounts_.front();
  current_.resize(n);
  coins_.clear();
  FindBlocks(targets.block_begins);
  for (Block& block : blocks_) {
    RETURN_IF_ERROR(CheckBlock(block));
    MixBlock(targets.block_mixing, &block);
    MakeCoins(&block);
  }
  num_used_ = blocks_.back().end;
  return absl::OkStatus();
}

// The largest λ for which D still majorises d' = (d - λ mean) / (1-λ) is
// 1 - max_r Σ_{i<=r} (d_i - mean) / Σ_{i<=r} (D_i - mean).
void SlotSampler::MixBlock(double block_mixing, Block* block) {
  const uint32_t size = block->end - block->begin;
  if (size == 1 || block_mixing == 0) return;
  double sum = 0;
  for (uint32_t i = block->begin; i < block->end; ++i) sum += discounts_[i];
  const double mean = sum / size;
  double sum_targets = 0;
  double sum_discounts = 0;
  double ratio = 0;
  for (uint32_t i = block->begin; i + 1 < block->end; ++i) {
    sum_targets += targets_[i] - mean;
    sum_discounts += discounts_[i] - mean;
    if (sum_discounts <= negligible_) continue;
    ratio = std::max(ratio, sum_targets / sum_discounts);
  }
  block->uniform = OnGrid(block_mixing * (1 - std::min(ratio, 1.0)));
  const double rest = 1 - block->uniform;
  if (rest == 0) return;  // There is no d'.
  for (uint32_t i = block->begin; i < block->end; ++i) {
    targets_[i] = (targets_[i] - block->uniform * mean) / rest;
  }
}

void SlotSampler::MakeCoins(Block* block) {
  block->first_coin = block->end_coin = static_cast<uint32_t>(coins_.size());
  if (block->end - block->begin == 1 || block->uniform == 1) return;
  givers_.clear();
  for (uint32_t i = block->begin; i < block->end; ++i) {
    current_[i] = discounts_[i];
    if (current_[i] - targets_[i] > negligible_) {
      givers_.push_back(i);
      continue;
    }
    while (!givers_.empty() && targets_[i] - current_[i] > negligible_) {
      const uint32_t giver = givers_.back();
      const double excess = current_[giver] - targets_[giver];
      const double need = targets_[i] - current_[i];
      const bool giver_is_final = excess <= need;
      const double moved = giver_is_final ? excess : need;
      const double p = OnGrid(moved / (current_[giver] - current_[i]));
      coins_.push_back({giver, i, p, giver_is_final});
      current_[giver] -= moved;
      current_[i] += moved;
      if (current_[giver] - targets_[giver] <= negligible_) givers_.pop_back();
    }
  }
  block->end_coin = static_cast<uint32_t>(coins_.size());
}

// The functions below draw. In them slots_ has the place of each slot.

void SlotSampler::PermuteUniformly(const Block& block,
                                   std::span<const double> numbers) {
  for (uint32_t slot = block.begin; slot + 1 < block.end; ++slot) {
    if (slot >= num_shown_) break;
    const double left = block.end - slot;
    const auto other = static_cast<uint32_t>(numbers[slot + 1] * left);
    std::swap(slots_[slot], slots_[slot + other]);
  }
}

void SlotSampler::TossCoins(const Block& block,
                            std::span<const double> numbers) {
  // observed_ has the slot of each place, and is inverted in the end.
  for (uint32_t i = block.begin; i < block.end; ++i) observed_[i] = i;
  uint32_t next = block.begin + 1;
  for (uint32_t c = block.first_coin; c < block.end_coin; ++c) {
    if (numbers[next++] >= coins_[c].swap) continue;
    std::swap(observed_[coins_[c].giver], observed_[coins_[c].taker]);
  }
  for (uint32_t i = block.begin; i < block.end; ++i) slots_[observed_[i]] = i;
}

// The first of a block's numbers chooses the part of the mixture. The others
// are for its coins, of which there are fewer than places, or for the uniform
// order.
void SlotSampler::Draw(std::span<const double> numbers,
                       std::span<int32_t> outcome) {
  CHECK(num_used_ > 0 && numbers.size() >= num_used_ &&
        outcome.size() == num_shown_);
  slots_.resize(num_used_);
  observed_.resize(num_used_);
  std::iota(slots_.begin(), slots_.end(), 0u);
  for (const Block& block : blocks_) {
    if (block.end - block.begin == 1) continue;
    if (numbers[block.begin] < block.uniform) {
      PermuteUniformly(block, numbers);
    } else {
      TossCoins(block, numbers);
    }
  }
  for (uint32_t r = 0; r < num_shown_; ++r) {
    outcome[r] = order_[slots_[r]];
  }
  if (view_ == SlotView::kSet) std::sort(outcome.begin(), outcome.end());
}

}  // namespace sortition
