#include "core/games/slot_sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

// Of D_0. Rounding of d, as it comes from pooling, is a few 2^-52.
constexpr double kNegligible = 0x1p-48;
// Of D_0: d further than this out of reach is a mistake, not rounding.
constexpr double kReach = 1e-9;

// To a multiple of 2^-52, for p in [0, 1]: the sum has that last place.
double OnGrid(double p) { return (1 + p) - 1; }

absl::Status Bad(const char* field, const auto& value, const auto& range) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", value, ", must be ", range));
}

absl::Status CheckFinite(const char* field, std::span<const double> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    return Bad(absl::StrCat(field, "[", i, "]").c_str(), values[i], "finite");
  }
  return absl::OkStatus();
}

absl::Status CheckSizes(const SlotTargets& targets) {
  const size_t n = targets.discounts.size();
  if (n == 0 || n >= kNone) {
    return Bad("size of discounts", n, "in [1, 2^32 - 2]");
  }
  if (targets.expected_discounts.size() != n) {
    return Bad("size of expected_discounts", targets.expected_discounts.size(),
               absl::StrCat(n, ", as of discounts"));
  }
  if (targets.order.size() != n) {
    return Bad("size of order", targets.order.size(),
               absl::StrCat(n, ", as of discounts"));
  }
  if (targets.num_shown < 1 || targets.num_shown > n) {
    return Bad("num_shown", targets.num_shown, absl::StrCat("in [1, ", n, "]"));
  }
  if (!(targets.block_mixing >= 0 && targets.block_mixing <= 1)) {
    return Bad("block_mixing", targets.block_mixing, "in [0, 1]");
  }
  RETURN_IF_ERROR(CheckFinite("discounts", targets.discounts));
  for (size_t r = 1; r < n; ++r) {
    if (targets.discounts[r] <= targets.discounts[r - 1]) continue;
    return Bad(
        absl::StrCat("discounts[", r, "]").c_str(), targets.discounts[r],
        absl::StrCat("at most ", targets.discounts[r - 1], ", the one before"));
  }
  return CheckFinite("expected_discounts", targets.expected_discounts);
}

}  // namespace

absl::Status SlotSampler::Validate(const SlotTargets& targets) {
  const size_t n = targets.discounts.size();
  places_.assign(n, kNone);
  targets_.resize(n);
  for (size_t place = 0; place < n; ++place) {
    const uint32_t item = targets.order[place];
    if (item >= n || places_[item] != kNone) {
      return Bad(absl::StrCat("order[", place, "]").c_str(), item,
                 absl::StrCat("in [0, ", n, ") and named once"));
    }
    places_[item] = static_cast<uint32_t>(place);
    targets_[place] = targets.expected_discounts[item];
  }
  const std::span<const uint32_t> begins = targets.block_begins;
  for (size_t b = 0; b < begins.size(); ++b) {
    if (b == 0 ? begins[0] != 0
               : begins[b] <= begins[b - 1] || begins[b] >= n) {
      return Bad(absl::StrCat("block_begins[", b, "]").c_str(), begins[b],
                 b == 0 ? std::string("0")
                        : absl::StrCat("in (", begins[b - 1], ", ", n, ")"));
    }
  }
  return absl::OkStatus();
}

// Fills `blocks_` up to the last that shows a slot.
void SlotSampler::FindBlocks(const SlotTargets& targets) {
  const auto n = static_cast<uint32_t>(targets_.size());
  blocks_.clear();
  num_used_ = 0;
  if (!targets.block_begins.empty()) {
    const std::span<const uint32_t> begins = targets.block_begins;
    for (size_t b = 0; b < begins.size() && num_used_ < num_shown_; ++b) {
      num_used_ = b + 1 < begins.size() ? begins[b + 1] : n;
      blocks_.push_back({begins[b], num_used_, 0, 0, 0});
    }
    return;
  }
  double gap = 0;
  for (uint32_t place = 0; place < n && num_used_ < num_shown_; ++place) {
    gap += targets.discounts[place] - targets_[place];
    if (std::abs(gap) > negligible_ && place + 1 < n) continue;
    blocks_.push_back({num_used_, place + 1, 0, 0, 0});
    num_used_ = place + 1;
    gap = 0;
  }
}

absl::Status SlotSampler::Build(const SlotTargets& targets) {
  num_used_ = 0;  // Nothing can be drawn until this has succeeded.
  RETURN_IF_ERROR(CheckSizes(targets));
  RETURN_IF_ERROR(Validate(targets));
  const double scale = std::max(std::abs(targets.discounts.front()),
                                std::abs(targets.discounts.back()));
  view_ = targets.view;
  num_shown_ = targets.num_shown;
  negligible_ = kNegligible * scale;
  order_.assign(targets.order.begin(), targets.order.end());
  current_.resize(targets_.size());
  coins_.clear();
  FindBlocks(targets);
  for (Block& block : blocks_) {
    double gap = 0;
    for (uint32_t place = block.begin; place < block.end; ++place) {
      if (place > block.begin && targets_[place] > targets_[place - 1]) {
        num_used_ = 0;
        return Bad(
            absl::StrCat("order[", place, "]").c_str(), order_[place],
            "an item of no larger expected discount than the one before");
      }
      gap += targets.discounts[place] - targets_[place];
      const bool at_end = place + 1 == block.end;
      if (gap < -kReach * scale || (at_end && gap > kReach * scale)) {
        num_used_ = 0;
        return Bad(
            "sum of expected_discounts", absl::StrCat(-gap),
            absl::StrCat("at most 0 above that of discounts up to place ",
                         place, ", and 0 at the end of a block"));
      }
    }
    BuildBlock(targets.discounts, targets.block_mixing, &block);
  }
  return absl::OkStatus();
}

// λ: the largest for which d' = (d - λ mean) / (1-λ) is still majorised by D is
// 1 - max_r Σ_{i<=r} (d_i - mean) / Σ_{i<=r} (D_i - mean).
void SlotSampler::BuildBlock(std::span<const double> discounts,
                             double block_mixing, Block* block) {
  block->first_coin = block->end_coin = static_cast<uint32_t>(coins_.size());
  const uint32_t size = block->end - block->begin;
  if (size == 1) return;
  if (block_mixing > 0) {
    double sum = 0;
    for (uint32_t i = block->begin; i < block->end; ++i) sum += discounts[i];
    const double mean = sum / size;
    double sum_targets = 0;
    double sum_discounts = 0;
    double ratio = 0;
    for (uint32_t i = block->begin; i + 1 < block->end; ++i) {
      sum_targets += targets_[i] - mean;
      sum_discounts += discounts[i] - mean;
      if (sum_discounts <= negligible_) continue;
      ratio = std::max(ratio, sum_targets / sum_discounts);
    }
    block->uniform = OnGrid(block_mixing * (1 - std::min(ratio, 1.0)));
    if (block->uniform == 1) return;
    const double rest = 1 - block->uniform;
    for (uint32_t i = block->begin; i < block->end; ++i) {
      targets_[i] = (targets_[i] - block->uniform * mean) / rest;
    }
  }
  givers_.clear();
  for (uint32_t i = block->begin; i < block->end; ++i) {
    current_[i] = discounts[i];
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

// In drawing, slots_ is the place by slot while it is made.

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
  // The slot of each place in observed_; inverted in the end.
  for (uint32_t i = block.begin; i < block.end; ++i) observed_[i] = i;
  uint32_t next = block.begin + 1;
  for (uint32_t c = block.first_coin; c < block.end_coin; ++c) {
    if (numbers[next++] >= coins_[c].swap) continue;
    std::swap(observed_[coins_[c].giver], observed_[coins_[c].taker]);
  }
  for (uint32_t i = block.begin; i < block.end; ++i) slots_[observed_[i]] = i;
}

// Numbers of a block: the first says which part of the mixture, the others are
// those of its coins, at most one less than it has places, or of the uniform
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
    outcome[r] = static_cast<int32_t>(order_[slots_[r]]);
  }
  if (view_ == SlotView::kSet) std::sort(outcome.begin(), outcome.end());
}

}  // namespace sortition
