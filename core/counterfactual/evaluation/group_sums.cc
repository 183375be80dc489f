#include "core/counterfactual/evaluation/group_sums.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace sortition {
namespace {

// Σ_g f(t_g), where f may be called once for each used group.
template <typename Function>
double SumOverGroups(const GroupSums& sums, const Function& function) {
  double sum = 0;
  for (size_t g = 0; g < sums.num_groups(); ++g) {
    if (sums.is_used(g)) sum += function(sums.group(g));
  }
  return sum;
}

}  // namespace

void GroupSums::Merge(const GroupSums& other) {
  for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
  for (size_t g = 0; g < is_used_.size(); ++g) {
    is_used_[g] |= other.is_used_[g];
  }
}

std::vector<double> GroupSums::Totals() const {
  std::vector<double> totals(width_);
  for (size_t g = 0; g < num_groups(); ++g) {
    for (size_t i = 0; i < width_; ++i) totals[i] += group(g)[i];
  }
  return totals;
}

size_t GroupSums::num_used_groups() const {
  return static_cast<size_t>(
      std::accumulate(is_used_.begin(), is_used_.end(), 0));
}

double Apply(const SumFunction& function, std::span<const double> sums) {
  double value = 0;
  for (const SumTerm& term : function) value += term.factor * sums[term.entry];
  return value;
}

double ApplyToTotals(const SumFunction& function, const GroupSums& sums) {
  return SumOverGroups(sums, [&](std::span<const double> group) {
    return Apply(function, group);
  });
}

RatioEstimate EstimateRatios(const GroupSums& sums,
                             std::span<const Ratio> ratios) {
  RatioEstimate estimate;
  bool is_known = !ratios.empty();
  // Numerator and denominator of a group become its deviation.
  SumFunction deviation;
  for (const Ratio& ratio : ratios) {
    const double all = ApplyToTotals(ratio.denominator, sums);
    if (all == 0) {
      is_known = false;
      continue;
    }
    const double value = ApplyToTotals(ratio.numerator, sums) / all;
    estimate.value += ratio.factor * value;
    for (const SumTerm& term : ratio.numerator) {
      deviation.push_back({term.entry, term.factor * ratio.factor / all});
    }
    for (const SumTerm& term : ratio.denominator) {
      deviation.push_back(
          {term.entry, -value * term.factor * ratio.factor / all});
    }
  }
  estimate.num_groups = sums.num_used_groups();
  const double n = static_cast<double>(estimate.num_groups);
  const double squares =
      SumOverGroups(sums, [&](std::span<const double> group) {
        const double value = Apply(deviation, group);
        return value * value;
      });
  estimate.standard_error = n < 2 || !is_known
                                ? std::numeric_limits<double>::infinity()
                                : std::sqrt(n / (n - 1) * squares);
  return estimate;
}

double ControlFactor(const GroupSums& sums, const SumFunction& a,
                     const SumFunction& c, const SumFunction& count) {
  const double all = ApplyToTotals(count, sums);
  if (all == 0) return 0;
  const double mean_a = ApplyToTotals(a, sums) / all;
  const double mean_c = ApplyToTotals(c, sums) / all;
  double products = 0;
  double squares = 0;
  double magnitudes = 0;
  SumOverGroups(sums, [&](std::span<const double> group) {
    const double n = Apply(count, group);
    const double residual = Apply(c, group) - mean_c * n;
    products += (Apply(a, group) - mean_a * n) * residual;
    squares += residual * residual;
    double magnitude = std::abs(mean_c) * n;
    for (const SumTerm& term : c) {
      magnitude += std::abs(term.factor * group[term.entry]);
    }
    magnitudes += magnitude * magnitude;
    return 0;
  });
  // Sums of equal numbers differ by rounding errors of about 1e-16, and more in
  // large groups.
  constexpr double kRounding = 1e-12;
  return squares > kRounding * kRounding * magnitudes ? products / squares : 0;
}

}  // namespace sortition
