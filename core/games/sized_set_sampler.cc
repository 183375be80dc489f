#include "core/games/sized_set_sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/log_mixture.h"
#include "core/base/stable_math.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

constexpr double kSumTolerance = 1e-9;

double OnGrid(double p) { return (1 + p) - 1; }

absl::Status Bad(const std::string& field, double value,
                 const std::string& range) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", value, ", must be ", range));
}

bool InUnitInterval(double value) { return value >= 0 && value <= 1; }

}  // namespace

absl::Status SizedSetSampler::AddSize(const SizedSets& sets,
                                      double block_mixing) {
  const uint32_t n = num_items_;
  const std::string name = absl::StrCat("of size ", sets.size);
  if (sets.size > n) return Bad("size", sets.size, absl::StrCat("at most ", n));
  for (const Size& other : sizes_) {
    if (other.size == sets.size) return Bad("size", sets.size, "named once");
  }
  if (!InUnitInterval(sets.probability)) {
    return Bad("probability " + name, sets.probability, "in [0, 1]");
  }
  const double begin = sizes_.empty() ? 0 : sizes_.back().end;
  const double end = OnGrid(std::min(begin + sets.probability, 1.0));
  sizes_.push_back({sets.size, end, end - begin, {}});
  if (sets.size == 0) return absl::OkStatus();
  const std::span<const double> p = sets.inclusion_probabilities;
  if (p.size() != n) {
    return Bad("number of inclusion_probabilities " + name,
               static_cast<double>(p.size()), absl::StrCat(n));
  }
  std::vector<int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  for (uint32_t i = 0; i < n; ++i) {
    if (InUnitInterval(p[i])) continue;
    return Bad(absl::StrCat("inclusion_probabilities[", i, "] ", name), p[i],
               "in [0, 1]");
  }
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return p[a] != p[b] ? p[a] > p[b] : a < b;
  });
  const std::vector<double> in_slots(sets.size, 1);
  SlotTargets targets;
  targets.discounts = in_slots;
  targets.expected_discounts = p;
  targets.order = order;
  targets.view = SlotView::kSet;
  targets.num_shown = sets.size;
  targets.block_mixing = block_mixing;
  return sizes_.back().sets.Build(targets);
}

absl::Status SizedSetSampler::Build(uint32_t num_items,
                                    std::span<const SizedSets> sizes,
                                    double block_mixing,
                                    double uniform_mixture) {
  sizes_.clear();
  num_items_ = num_items;
  uniform_mixture_ = uniform_mixture;
  if (!InUnitInterval(uniform_mixture)) {
    return Bad("uniform_mixture", uniform_mixture, "in [0, 1]");
  }
  double sum = 0;
  for (const SizedSets& sets : sizes) {
    absl::Status status = AddSize(sets, block_mixing);
    if (!status.ok()) {
      sizes_.clear();
      return status;
    }
    sum += sets.probability;
  }
  if (std::abs(sum - 1) > kSumTolerance) {
    sizes_.clear();
    return Bad("sum of the probabilities of sizes", sum, "1 within 1e-9");
  }
  // What rounding left over goes to the last.
  sizes_.back().probability += 1 - sizes_.back().end;
  sizes_.back().end = 1;
  return absl::OkStatus();
}

// Number 0 says which part of the mixture, 1 the size; the others are those of
// the set.
void SizedSetSampler::Draw(std::span<const double> numbers,
                           std::vector<int32_t>* set) {
  CHECK(!sizes_.empty() && numbers.size() >= num_numbers());
  set->clear();
  if (numbers[0] < uniform_mixture_) {
    for (uint32_t i = 0; i < num_items_; ++i) {
      if (numbers[2 + i] < 0.5) set->push_back(static_cast<int32_t>(i));
    }
    return;
  }
  auto size = sizes_.begin();
  while (numbers[1] >= size->end) ++size;
  if (size->size == 0) return;
  set->resize(size->size);
  size->sets.Draw(numbers.subspan(2), *set);
}

double SizedSetSampler::LogPropensity(std::span<const int32_t> set) {
  CHECK(!sizes_.empty());
  for (size_t i = 0; i < set.size(); ++i) {
    if (set[i] < 0 || static_cast<uint32_t>(set[i]) >= num_items_ ||
        (i > 0 && set[i] <= set[i - 1])) {
      return -HUGE_VAL;
    }
  }
  double log_p = -HUGE_VAL;
  for (Size& size : sizes_) {
    if (size.size != set.size() || size.probability <= 0) continue;
    log_p = stable::Log(size.probability);
    if (size.size > 0) log_p += size.sets.LogPropensity(set, nullptr);
  }
  const double log_q = -stable::Log(2) * num_items_;
  return LogMixture(uniform_mixture_)(log_p, log_q);
}

}  // namespace sortition
