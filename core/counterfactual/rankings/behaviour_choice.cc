#include "core/counterfactual/rankings/behaviour_choice.h"

#include <algorithm>
#include <array>
#include <limits>

namespace sortition {
namespace {

double SquaredBias(const GroupSums& sums, std::span<const Ratio> candidates,
                   size_t c) {
  double bias = 0;
  for (size_t j = 0; j < c; ++j) {
    std::array<Ratio, 2> pair = {candidates[c], candidates[j]};
    pair[1].factor = -pair[1].factor;
    const RatioEstimate d = EstimateRatios(sums, pair);
    bias =
        std::max(bias, d.value * d.value - d.standard_error * d.standard_error);
  }
  return bias;
}

}  // namespace

size_t ChooseBehaviour(const GroupSums& sums,
                       std::span<const Ratio> candidates) {
  size_t chosen = 0;
  double least = std::numeric_limits<double>::infinity();
  for (size_t c = 0; c < candidates.size(); ++c) {
    const double error =
        EstimateRatios(sums, candidates.subspan(c, 1)).standard_error;
    const double risk = SquaredBias(sums, candidates, c) + error * error;
    // Rounding is no reason to assume more.
    constexpr double kMargin = 1e-9;
    if (risk < least * (1 - kMargin)) {
      least = risk;
      chosen = c;
    }
  }
  return chosen;
}

}  // namespace sortition
