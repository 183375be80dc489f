#include "core/games/ranking/graded_game.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/games/ranking/clipped_sum.h"

namespace sortition {
namespace {

// Tolerance of sums of discounts, per item and in units of the largest
// discount.
constexpr double kRounding = 1e-15;

// Targets within this many times the largest discount lose at most two digits
// when they are added to it.
constexpr double kNear = 100;

absl::Status CheckGains(std::span<const double> gains) {
  if (gains.size() < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "gains has ", gains.size(), " levels, must have 2 at least"));
  }
  for (size_t l = 0; l < gains.size(); ++l) {
    const bool good =
        l == 0 ? gains[l] == 0 : gains[l] > gains[l - 1] && gains[l] < HUGE_VAL;
    if (good) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "gains[", l, "] is ", gains[l],
        l == 0 ? ", must be 0"
               : absl::StrCat(", must be finite and above the one before, ",
                              gains[l - 1])));
  }
  return absl::OkStatus();
}

}  // namespace

// Finds the upper concave envelope of each item's (gain, ψ), from left to
// right: a point below the line from the corner before it to the next point is
// not a corner.
absl::Status GradedGame::FindSlopes(std::span<const double> psi,
                                    std::span<const double> gains) {
  const size_t num_levels = gains.size();
  slopes_.resize((num_levels - 1) * num_items_);
  is_vertex_.assign(psi.size(), 0);
  for (size_t i = 0; i < num_items_; ++i) {
    const double* const row = psi.data() + i * num_levels;
    const auto slope = [&](size_t a, size_t b) {
      return (row[b] - row[a]) / (gains[b] - gains[a]);
    };
    corners_.clear();
    for (size_t l = 0; l < num_levels; ++l) {
      while (corners_.size() >= 2 &&
             slope(*(corners_.end() - 2), corners_.back()) <
                 slope(corners_.back(), l)) {
        corners_.pop_back();
      }
      corners_.push_back(static_cast<int32_t>(l));
    }
    is_vertex_[i * num_levels] = 1;
    for (size_t c = 1; c < corners_.size(); ++c) {
      const double s = slope(corners_[c - 1], corners_[c]);
      if (!(std::abs(s) <= kMaxPotential)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "psi[", i * num_levels + corners_[c], "] makes a slope by gain of ",
            s, ", must be from -1e300 to 1e300"));
      }
      is_vertex_[i * num_levels + corners_[c]] = 1;
      for (int32_t l = corners_[c - 1]; l < corners_[c]; ++l) {
        slopes_[l * num_items_ + i] = s;
      }
    }
  }
  return absl::OkStatus();
}

absl::Status GradedGame::FindLevels(std::span<const double> gains,
                                    const Discounts& discounts, double* value) {
  levels_.assign(num_items_, 0);
  for (size_t l = 0; l + 1 < gains.size(); ++l) {
    const std::span<const double> slopes(slopes_.data() + l * num_items_,
                                         num_items_);
    RETURN_IF_ERROR(binary_.Solve(slopes, discounts, {}, &binary_equilibrium_));
    *value += (gains[l + 1] - gains[l]) * binary_equilibrium_.value;
    for (size_t i = 0; i < num_items_; ++i) {
      levels_[i] += binary_equilibrium_.positive_probabilities[i] > 0.5 ? 1 : 0;
    }
  }
  return absl::OkStatus();
}

void GradedGame::WriteProbabilities(std::span<const double> gains,
                                    std::vector<double>* probabilities) const {
  const size_t num_levels = gains.size();
  probabilities->assign(num_items_ * num_levels, 0);
  for (size_t i = 0; i < num_items_; ++i) {
    const uint8_t* const is_vertex = is_vertex_.data() + i * num_levels;
    double* const row = probabilities->data() + i * num_levels;
    const int32_t level = levels_[i];
    int32_t below = level;
    int32_t above = level;
    while (is_vertex[below] == 0) --below;
    while (is_vertex[above] == 0) ++above;
    const double share = below == above ? 0
                                        : (gains[level] - gains[below]) /
                                              (gains[above] - gains[below]);
    row[below] = 1 - share;
    if (share > 0) row[above] = share;
  }
}

// Puts items of higher level at higher ranks, and orders the items of one level
// by falling target. A member's place is then a rank of its level.
void GradedGame::ArrangeMembers(std::span<const double> psi,
                                std::span<const double> gains,
                                const Discounts& discounts) {
  const size_t num_levels = gains.size();
  const size_t last = num_levels - 1;
  level_ends_.assign(num_levels, 0);
  by_target_.resize(num_items_);
  for (size_t i = 0; i < num_items_; ++i) {
    const double* const row = psi.data() + i * num_levels;
    by_target_[i] = {(row[last] - row[0]) / gains[last],
                     static_cast<int32_t>(i)};
    ++level_ends_[last - levels_[i]];
  }
  SortItems(&by_target_, &buffer_);
  std::exclusive_scan(level_ends_.begin(), level_ends_.end(),
                      level_ends_.begin(), size_t{0});
  members_.resize(num_items_);
  for (const KeyedItem& keyed : by_target_) {
    const size_t i = keyed.item;
    const size_t level = levels_[i];
    members_[level_ends_[last - level]++] = {
        .target = keyed.psi,
        .low = level < last ? slopes_[level * num_items_ + i] : -HUGE_VAL,
        .high = level > 0 ? slopes_[(level - 1) * num_items_ + i] : HUGE_VAL,
        .share = 0,
        .item = keyed.item};
  }
  ranges_.clear();
  size_t begin = 0;
  for (const size_t end : level_ends_) {
    // No d is outside the discounts of the level, so the bounds can be made
    // finite.
    for (size_t r = begin; r < end; ++r) {
      Member& member = members_[r];
      member.high =
          std::clamp(member.high, discounts[end - 1], discounts[begin]);
      member.low = std::clamp(member.low, discounts[end - 1], member.high);
    }
    if (end > begin) ranges_.push_back({begin, end});
    begin = end;
  }
}

// Finds share = clip(target + τ, low, high) with the right sum, where τ = t -
// reference. Since bounds are within [0, most], every bend is at a τ in
// [-target, most - target] of some member. If targets are far apart, the
// reference is the target of the first member that reaches the sum, so that
// large targets cancel before t is added.
void GradedGame::Share(Range range, const Discounts& discounts) {
  const std::span<Member> members(members_.begin() + range.begin,
                                  members_.begin() + range.end);
  const double most = discounts[range.begin];
  double total = 0;
  const auto size = static_cast<double>(members.size());
  double reference = members.front().target;
  double high = most + (reference - members.back().target);
  const auto evaluate = [&](double t) {
    ClippedSum sum{0, 0};
    for (const Member& member : members) {
      const double value = (member.target - reference) + t;
      const double share = std::max(member.low, std::min(value, member.high));
      sum.value += share;
      sum.slope += share == value ? 1 : 0;
    }
    return sum;
  };
  double drops = 0;
  for (size_t r = range.begin; r < range.end; ++r) {
    total += discounts[r];
    drops += reference - members_[r].target;
  }
  double start =
      (total + drops) / size;  // This is right if nothing is clipped.
  if (high > kNear * most) {
    const auto place = std::partition_point(
        members.begin(), members.end() - 1, [&](const Member& member) {
          reference = member.target;
          return evaluate(most).value < total;
        });
    reference = place->target;
    high = most;
    start = most / 2;
  }
  const double tolerance = kRounding * most * size;
  const double t =
      SolveClippedSum({0, high, start, total, tolerance}, evaluate);
  for (Member& member : members) {
    member.share =
        std::clamp((member.target - reference) + t, member.low, member.high);
  }
}

size_t GradedGame::SplitOff(Range range, const Discounts& discounts) {
  const size_t size = range.end - range.begin;
  Member* const members = members_.data() + range.begin;
  // They mostly fall already, because shares fall with targets except for the
  // bounds.
  bool in_order = true;
  for (size_t r = 1; r < size; ++r) {
    in_order = in_order && members[r - 1].share >= members[r].share;
  }
  by_share_.resize(size);
  std::iota(by_share_.begin(), by_share_.end(), 0);
  if (!in_order) {
    std::sort(by_share_.begin(), by_share_.end(), [&](int32_t a, int32_t b) {
      return members[a].share != members[b].share
                 ? members[a].share > members[b].share
                 : a < b;
    });
  }
  double most =
      2 * kRounding * discounts[range.begin] * static_cast<double>(size);
  double excess = 0;
  size_t num_split = 0;
  for (size_t r = 0; r + 1 < size; ++r) {
    excess += members[by_share_[r]].share - discounts[range.begin + r];
    if (excess > most) {
      most = excess;
      num_split = r + 1;
    }
  }
  if (num_split == 0 || in_order) return num_split;
  // Both parts keep the order of the targets.
  std::sort(by_share_.begin(), by_share_.begin() + num_split);
  std::sort(by_share_.begin() + num_split, by_share_.end());
  moved_.assign(members, members + size);
  for (size_t r = 0; r < size; ++r) members[r] = moved_[by_share_[r]];
  return num_split;
}

absl::Status GradedGame::Solve(std::span<const double> psi,
                               std::span<const double> gains,
                               const Discounts& discounts,
                               GradedEquilibrium* equilibrium) {
  RETURN_IF_ERROR(CheckGains(gains));
  RETURN_IF_ERROR(CheckPotentials(psi));
  if (psi.size() % gains.size() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("psi has ", psi.size(), " potentials, must have ",
                     gains.size(), " for each item, one per level of gains"));
  }
  num_items_ = psi.size() / gains.size();
  RETURN_IF_ERROR(FindSlopes(psi, gains));
  double value = 0;
  for (size_t i = 0; i < num_items_; ++i) value -= psi[i * gains.size()];
  RETURN_IF_ERROR(FindLevels(gains, discounts, &value));
  equilibrium->value = value;
  WriteProbabilities(gains, &equilibrium->level_probabilities);
  ArrangeMembers(psi, gains, discounts);
  while (!ranges_.empty()) {
    const Range range = ranges_.back();
    ranges_.pop_back();
    if (range.end - range.begin == 1) {
      members_[range.begin].share = discounts[range.begin];
      continue;
    }
    Share(range, discounts);
    const size_t num_split = SplitOff(range, discounts);
    if (num_split == 0) continue;
    ranges_.push_back({range.begin, range.begin + num_split});
    ranges_.push_back({range.begin + num_split, range.end});
  }
  equilibrium->expected_discounts.resize(num_items_);
  for (const Member& member : members_) {
    equilibrium->expected_discounts[member.item] = member.share;
  }
  return absl::OkStatus();
}

}  // namespace sortition
