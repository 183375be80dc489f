#include "core/counterfactual/evaluation/mean_interval.h"

#include <algorithm>
#include <vector>

#include "core/counterfactual/evaluation/betting.h"
#include "core/counterfactual/evaluation/group_blocks.h"
#include "core/counterfactual/evaluation/side_bounds.h"

namespace sortition {
namespace {

// Sums by group in units of the limit, times `sign`.
std::vector<BettingRound> RoundsOf(const MeanTask& task, double sign) {
  std::vector<BettingRound> rounds;
  for (size_t g = 0; g < task.sums->num_groups(); ++g) {
    if (!task.sums->is_used(g)) continue;
    const std::span<const double> group = task.sums->group(g);
    const double count = Apply(task.mean.denominator, group);
    const double sum = sign * Apply(task.mean.numerator, group) / task.limit;
    // Rounding may leave more, or less.
    rounds.push_back({std::clamp(sum, -count, count), count});
  }
  return rounds;
}

// Returns a lower bound of the mean, or of minus the mean.
double BettingBound(const MeanTask& task, double sign) {
  const std::vector<BettingRound> rounds = RoundsOf(task, sign);
  double largest = task.largest_group.value_or(0);
  if (!task.largest_group.has_value()) {
    for (const BettingRound& round : rounds) {
      largest = std::max(largest, round.count);
    }
  }
  const BettingGame game = {rounds, 1, largest > 0 ? largest : 1};
  return task.limit * BettingLowerBound(game, (1 - task.confidence) / 2);
}

// The mean, or minus the mean.
Side SideOf(const MeanTask& task, double sign) {
  return {{Plus({}, task.mean.numerator, sign), task.mean.denominator},
          -task.limit};
}

}  // namespace

JudgedInterval MeanInterval(const MeanTask& task) {
  const RatioEstimate estimate =
      EstimateRatios(*task.sums, std::span(&task.mean, 1));
  JudgedInterval judged;
  judged.standard_error = estimate.standard_error;
  if (IsNearlyNormal(*task.sums, std::span(&task.mean, 1))) {
    const double failure = (1 - task.confidence) / 2;
    judged.kind = IntervalKind::kEmpiricalLikelihood;
    judged.interval.lower =
        LikelihoodBound(*task.sums, SideOf(task, 1), -task.limit, failure);
    judged.interval.upper =
        -LikelihoodBound(*task.sums, SideOf(task, -1), -task.limit, failure);
  } else {
    judged.kind = IntervalKind::kBetting;
    judged.interval.lower = BettingBound(task, 1);
    judged.interval.upper = -BettingBound(task, -1);
  }
  judged.interval.value = estimate.value;
  judged.interval.lower = std::min(judged.interval.lower, estimate.value);
  judged.interval.upper = std::max(judged.interval.upper, estimate.value);
  return judged;
}

}  // namespace sortition
