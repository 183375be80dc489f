#include "core/games/sampling/sized_set_sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/log_mixture.h"
#include "core/base/stable_math.h"
#include "core/games/sampling/probability_grid.h"

namespace sortition {
namespace {

constexpr double kSumTolerance = 1e-9;

absl::Status Bad(const std::string& field, double value,
                 const std::string& range) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", value, ", must be ", range));
}

bool InUnitInterval(double value) { return value >= 0 && value <= 1; }

// Moves all values by the same share of the way towards 1, or towards 0, so
// that they add up to `wanted`.
void ScaleToSum(double wanted, std::span<double> p) {
  const double sum = stable::Sum(p);
  const auto n = static_cast<double>(p.size());
  if (sum < wanted) {
    const double share = std::min(1.0, (wanted - sum) / (n - sum));
    for (double& value : p) value = std::min(1.0, value + share * (1 - value));
  } else if (sum > wanted) {
    const double share = wanted / sum;
    for (double& value : p) value *= share;
  }
}

}  // namespace

absl::Status SizedSetSampler::AddSize(const SizedSets& sets) {
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
  const std::span<const double> p = sets.inclusion_probabilities;
  sizes_.push_back({sets.size, end, end - begin, p});
  if (sets.size == 0) return absl::OkStatus();
  if (p.size() != n) {
    return Bad("number of inclusion_probabilities " + name,
               static_cast<double>(p.size()), absl::StrCat(n));
  }
  for (uint32_t i = 0; i < n; ++i) {
    if (InUnitInterval(p[i])) continue;
    return Bad(absl::StrCat("inclusion_probabilities[", i, "] ", name), p[i],
               "in [0, 1]");
  }
  const double sum = stable::Sum(p);
  if (sets.probability * std::abs(sum - sets.size) >
      kSumTolerance * sets.size) {
    return Bad("sum of inclusion_probabilities " + name, sum,
               absl::StrCat(sets.size, " but for rounding"));
  }
  return absl::OkStatus();
}

absl::Status SizedSetSampler::Build(uint32_t num_items,
                                    std::span<const SizedSets> sizes,
                                    double block_mixing,
                                    double uniform_mixture) {
  sizes_.clear();
  prepared_size_ = 0;
  num_items_ = num_items;
  block_mixing_ = block_mixing;
  uniform_mixture_ = uniform_mixture;
  if (!InUnitInterval(block_mixing)) {
    return Bad("block_mixing", block_mixing, "in [0, 1]");
  }
  if (!InUnitInterval(uniform_mixture)) {
    return Bad("uniform_mixture", uniform_mixture, "in [0, 1]");
  }
  double sum = 0;
  for (const SizedSets& sets : sizes) {
    absl::Status status = AddSize(sets);
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
  // The last size gets what rounding has left over.
  sizes_.back().probability += 1 - sizes_.back().end;
  sizes_.back().end = 1;
  return absl::OkStatus();
}

// It is called only for the sizes that are drawn, or asked about.
bool SizedSetSampler::Prepare(const Size& size) {
  if (size.size == prepared_size_) return true;
  prepared_size_ = 0;
  const std::span<const double> p = size.inclusion_probabilities;
  targets_.assign(p.begin(), p.end());
  ScaleToSum(size.size, targets_);
  order_.resize(num_items_);
  std::iota(order_.begin(), order_.end(), 0);
  std::sort(order_.begin(), order_.end(), [this](int32_t a, int32_t b) {
    return targets_[a] != targets_[b] ? targets_[a] > targets_[b] : a < b;
  });
  in_slots_.assign(size.size, 1);
  SlotTargets targets;
  targets.discounts = in_slots_;
  targets.expected_discounts = targets_;
  targets.order = order_;
  targets.view = SlotView::kSet;
  targets.num_shown = size.size;
  targets.block_mixing = block_mixing_;
  if (!sets_.Build(targets).ok()) return false;
  prepared_size_ = size.size;
  return true;
}

// Random number 0 chooses the part of the mixture, number 1 the size, the
// others the set.
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
  if (!Prepare(*size)) {
    // Any set will do, because LogPropensity() says that it is impossible.
    std::iota(set->begin(), set->end(), 0);
    return;
  }
  sets_.Draw(numbers.subspan(2), *set);
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
  for (const Size& size : sizes_) {
    if (size.size != set.size() || size.probability <= 0) continue;
    if (size.size > 0 && !Prepare(size)) return -HUGE_VAL;
    log_p = stable::Log(size.probability);
    if (size.size > 0) log_p += sets_.LogPropensity(set, nullptr);
  }
  const double log_q = -stable::Log(2) * num_items_;
  return LogMixture(uniform_mixture_)(log_p, log_q);
}

}  // namespace sortition
