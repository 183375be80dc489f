#include "core/counterfactual/evaluation/side_bounds.h"

#include <algorithm>
#include <cmath>

#include "core/counterfactual/confidence/empirical_likelihood.h"
#include "core/counterfactual/estimators.h"
#include "core/counterfactual/evaluation/group_blocks.h"

namespace sortition {
namespace {

LikelihoodTask TaskOf(const GroupSums& sums, const Side& side, double least) {
  return {.column = MakeBlocks(sums, std::span(&side.mean, 1), kMostBlocks)[0],
          .least_term = side.least_term,
          .least = least};
}

double LevelOf(const GroupSums& sums, double failure_probability) {
  const size_t blocks = std::min(sums.num_used_groups(), kMostBlocks);
  const double t = StudentQuantile(1 - failure_probability, blocks - 1);
  return t * t / 2;
}

}  // namespace

SumFunction Plus(SumFunction a, const SumFunction& b, double factor) {
  for (const SumTerm& term : b) a.push_back({term.entry, factor * term.factor});
  return a;
}

bool IsNearlyNormal(const GroupSums& sums, const Side& side) {
  constexpr double kLargestTerm = 0.5;
  const std::span<const Ratio> mean(&side.mean, 1);
  if (!IsNearlyNormal(sums, mean)) return false;
  const RatioEstimate estimate = EstimateRatios(sums, mean);
  const double count = ApplyToTotals(side.mean.denominator, sums);
  return estimate.value - side.least_term <=
         kLargestTerm * count * estimate.standard_error;
}

double LikelihoodBound(const GroupSums& sums, const Side& side, double least,
                       double failure_probability) {
  return LikelihoodLowerBound(TaskOf(sums, side, least),
                              LevelOf(sums, failure_probability));
}

double BoundedLikelihoodBound(const GroupSums& sums, const Side& side,
                              double least, double failure_probability) {
  return CautiousLowerBound(TaskOf(sums, side, least),
                            LevelOf(sums, failure_probability / 2),
                            failure_probability);
}

}  // namespace sortition
