#include "core/clicks/click_intervals.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// The number whose cumulative Poisson(1) probability passes u.
double Poisson(double u) {
  double probability = std::exp(-1.0);
  double count = 0;
  for (; u > probability && count < 20; ++count) {
    u -= probability;
    probability /= count + 1;
  }
  return count;
}

absl::Status CheckOptions(const ClickBootstrapOptions& options) {
  if (options.draws < 20) {
    return absl::InvalidArgumentError(
        absl::StrCat("draws is ", options.draws, ", must be at least 20"));
  }
  if (!(options.confidence > 0 && options.confidence < 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "confidence is ", options.confidence, ", must be in (0, 1)"));
  }
  return absl::OkStatus();
}

// The q-quantile of sorted values, linear between them.
double Quantile(const std::vector<double>& sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = place - static_cast<double>(below);
  return (1 - share) * sorted[below] + share * sorted[above];
}

absl::StatusOr<std::vector<ClickParameter>> Draw(
    const ClickFitter& fitter, const FittedClicks& fitted,
    const ClickBootstrapOptions& options, size_t draw) {
  std::vector<double> multipliers(fitter.sessions().size());
  CounterRandom(SeedKey(options.seed), static_cast<uint32_t>(draw))
      .UniformBlocks(0, multipliers);
  for (double& number : multipliers) number = Poisson(number);
  ASSIGN_OR_RETURN(const FittedClicks drawn, fitter.Fit(multipliers, &fitted));
  return ClickParametersOf(drawn, options.with_items);
}

}  // namespace

absl::StatusOr<std::vector<ClickInterval>> BootstrapClickIntervals(
    const ClickFitter& fitter, const FittedClicks& fitted,
    const ClickBootstrapOptions& options, const ParallelFor& parallel_for) {
  RETURN_IF_ERROR(CheckOptions(options));
  std::vector<absl::StatusOr<std::vector<ClickParameter>>> draws(options.draws);
  parallel_for(options.draws, [&](size_t draw) {
    draws[draw] = Draw(fitter, fitted, options, draw);
  });
  for (const auto& draw : draws) RETURN_IF_ERROR(draw.status());
  std::vector<ClickInterval> intervals;
  std::vector<double> values(options.draws);
  const double tail = (1 - options.confidence) / 2;
  for (const ClickParameter& parameter :
       ClickParametersOf(fitted, options.with_items)) {
    for (size_t d = 0; d < draws.size(); ++d) {
      values[d] = (*draws[d])[intervals.size()].value;
    }
    std::sort(values.begin(), values.end());
    intervals.push_back(
        {parameter, Quantile(values, tail), Quantile(values, 1 - tail)});
  }
  return intervals;
}

}  // namespace sortition
