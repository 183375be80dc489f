#include "core/games/sampling/systematic_sampler.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/stable_math.h"

namespace sortition {

absl::Status SystematicSampler::Build(
    std::span<const double> inclusion_probabilities) {
  constexpr double kWhole = 1e-9;
  ends_.clear();
  if (inclusion_probabilities.empty()) {
    return absl::InvalidArgumentError(
        "inclusion_probabilities has 0 values, must have at least 1");
  }
  for (size_t i = 0; i < inclusion_probabilities.size(); ++i) {
    const double p = inclusion_probabilities[i];
    if (p >= 0 && p <= 1) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "inclusion_probabilities[", i, "] is ", p, ", must be in [0, 1]"));
  }
  ends_.reserve(inclusion_probabilities.size() + 1);
  ends_.push_back(0);
  // Adding to 1 rounds to the grid; sums above 1 would be rounded to a coarser
  // one.
  for (const double p : inclusion_probabilities) {
    ends_.push_back(ends_.back() + ((1 + p) - 1));
  }
  const double whole = std::nearbyint(ends_.back());
  if (std::abs(ends_.back() - whole) <= kWhole) {
    ends_.back() = whole;
    for (double& end : ends_) end = std::min(end, whole);
  }
  return absl::OkStatus();
}

void SystematicSampler::Draw(double number, std::vector<int32_t>* set) const {
  CHECK(!ends_.empty());
  set->clear();
  double taken = 0;
  for (size_t i = 0; i + 1 < ends_.size(); ++i) {
    // This is exact: both are multiples of 2^-52, and the difference is below 1
    // wherever it decides.
    if (ends_[i + 1] - taken <= number) continue;
    set->push_back(static_cast<int32_t>(i));
    ++taken;
  }
}

double SystematicSampler::LogPropensity(std::span<const int32_t> set) const {
  CHECK(!ends_.empty());
  const auto n = static_cast<int32_t>(ends_.size() - 1);
  double low = 0;
  double high = 1;
  double taken = 0;
  int32_t last = -1;
  for (const int32_t i : set) {
    if (i <= last || i >= n) return -HUGE_VAL;
    low = std::max(low, ends_[i] - taken);
    high = std::min(high, ends_[i + 1] - taken);
    last = i;
    ++taken;
  }
  low = std::max(low, ends_.back() - taken);
  return high > low ? stable::Log(high - low) : -HUGE_VAL;
}

}  // namespace sortition
