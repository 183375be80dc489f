#include "core/counterfactual/evaluation/unit_sizes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/base/check.h"

namespace sortition {
namespace {

// A bijection whose results have all bits mixed: the finaliser of SplitMix64.
uint64_t Mix(uint64_t hash) {
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
  return hash ^ (hash >> 31);
}

uint32_t SumAtMostLargest(uint32_t a, uint32_t b) {
  return a + std::min(b, std::numeric_limits<uint32_t>::max() - a);
}

}  // namespace

void UnitSizes::Add(uint64_t unit_hash) {
  uint32_t& count = counts_[unit_hash % kBuckets];
  num_used_ += count == 0 ? 1 : 0;
  count = SumAtMostLargest(count, 1);
  ++num_decisions_;
  const uint64_t mixed = Mix(unit_hash);
  Raise(mixed % kRegisters,
        static_cast<uint8_t>(std::countl_zero(mixed | (kRegisters - 1)) + 1));
}

void UnitSizes::Merge(const UnitSizes& other) {
  num_used_ = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    counts_[i] = SumAtMostLargest(counts_[i], other.counts_[i]);
    num_used_ += counts_[i] > 0 ? 1 : 0;
  }
  num_decisions_ += other.num_decisions_;
  for (size_t i = 0; i < kRegisters; ++i) Raise(i, other.ranks_[i]);
}

double UnitSizes::MostOfUnit(double largest_unit) const {
  const double limit = std::sqrt(static_cast<double>(num_units())) / 2;
  return std::max(1.0, std::min(largest_unit, limit));
}

double UnitSizes::ShareOf(uint64_t unit_hash, double largest_unit) const {
  return std::min(1.0,
                  MostOfUnit(largest_unit) / counts_[unit_hash % kBuckets]);
}

double UnitSizes::LargestGroup(size_t num_groups, double largest_unit) const {
  CHECK(std::has_single_bit(num_groups) && num_groups <= kBuckets);
  std::vector<uint32_t> units(num_groups);
  for (size_t i = 0; i < kBuckets; ++i) {
    units[i % num_groups] += counts_[i] > 0 ? 1 : 0;
  }
  return MostOfUnit(largest_unit) *
         *std::max_element(units.begin(), units.end());
}

uint64_t UnitSizes::largest_unit() const {
  return *std::max_element(counts_.begin(), counts_.end());
}

uint64_t UnitSizes::num_units() const {
  constexpr double kSize = kBuckets;
  // Beyond this few buckets are empty.
  constexpr double kMostByBuckets = 2;
  const double empty = kSize - static_cast<double>(num_used_);
  const double load = empty > 0 ? -std::log(empty / kSize)
                                : std::numeric_limits<double>::infinity();
  if (load <= kMostByBuckets) {
    return static_cast<uint64_t>(std::llround(kSize * load));
  }
  constexpr double kCount = kRegisters;
  constexpr double kFactor = 0.7213 / (1 + 1.079 / kCount);
  return static_cast<uint64_t>(
      std::llround(kFactor * kCount * kCount / inverse_sum_));
}

bool UnitSizes::HasRepeats() const {
  if (num_decisions_ == 0) return false;
  const auto decisions = static_cast<double>(num_decisions_);
  const double load = decisions / kBuckets;
  const double most = *std::max_element(counts_.begin(), counts_.end());
  constexpr double kLogOneInAMillion = -13.8;
  // Chernoff's bound for a Poisson variable, and a union bound over buckets.
  if (most > load &&
      std::log(double{kBuckets}) - load + most - most * std::log(most / load) <
          kLogOneInAMillion) {
    return true;
  }
  // The standard error of linear counting is 0.1 % up to two units per bucket;
  // that of leading zeros is 0.8 %.
  const double error = load <= 2 ? 0.005 : 0.05;
  return static_cast<double>(num_units()) < (1 - error) * decisions - 1;
}

void UnitSizes::Raise(size_t index, uint8_t rank) {
  if (rank <= ranks_[index]) return;
  inverse_sum_ += std::exp2(-rank) - std::exp2(-ranks_[index]);
  ranks_[index] = rank;
}

}  // namespace sortition
