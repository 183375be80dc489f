#include "core/counterfactual/rankings/ranking_intervals.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/counterfactual/confidence/bootstrap.h"
#include "core/counterfactual/evaluation/betting.h"
#include "core/counterfactual/evaluation/group_blocks.h"
#include "core/counterfactual/evaluation/support.h"
#include "core/counterfactual/evaluation/value_bounds.h"

namespace sortition {
namespace {

using Of = IntervalTask::Of;
using Weight = RankingWeightKind;

Bounds RangeOf(const RankingIntervalTask& task) {
  const double largest = task.sums->options().value.Largest();
  const bool is_gain =
      task.of == Of::kGainOverLog || task.of == Of::kGainOverPolicy;
  return {is_gain ? -largest : 0, largest};
}

Sides SidesOf(const RankingIntervalTask& task, Weight weight) {
  const RankingSums& sums = *task.sums;
  const SumFunction count = sums.LoggedReward().denominator;
  const SumFunction largest = sums.LargestReward();
  const SumFunction logged = sums.LoggedReward().numerator;
  const double most = sums.options().value.Largest();
  const auto sides = [&](SumFunction above, double least, SumFunction below) {
    return Sides{.above = {{std::move(above), count}, least},
                 .below = {{std::move(below), count}, -most}};
  };
  if (task.of == Of::kLogged) return sides(logged, 0, Plus({}, logged, -1));
  const SumFunction gain = sums.PlainTerm(task.policy, weight);
  const SumFunction regret =
      Plus(sums.PlainRegret(task.policy, weight), largest, -1);
  switch (task.of) {
    case Of::kGainOverLog:
      return sides(Plus(gain, logged, -1), -most, Plus(regret, logged, 1));
    case Of::kGainOverPolicy:
      return sides(
          Plus(gain, Plus(sums.PlainRegret(task.other, weight), largest, -1),
               1),
          -most, Plus(regret, sums.PlainTerm(task.other, weight), 1));
    default:
      return sides(gain, 0, regret);
  }
}

// The lower bound of a side by bets.
double BettingBound(const RankingIntervalTask& task, const Side& side) {
  const GroupSums& sums = task.sums->sums();
  const double scale = task.sums->options().value.Largest();
  const double least = -side.least_term / scale;
  std::vector<BettingRound> rounds;
  double largest = 0;
  for (size_t g = 0; g < sums.num_groups(); ++g) {
    if (!sums.is_used(g)) continue;
    const std::span<const double> group = sums.group(g);
    const double size = Apply(side.mean.denominator, group);
    // Rounding may leave less.
    rounds.push_back(
        {std::max(Apply(side.mean.numerator, group) / scale, -least * size),
         size});
    largest = std::max(largest, size);
  }
  BettingGame game = {rounds, least, largest > 0 ? largest : 1};
  if (task.largest_group.has_value()) game.largest_count = *task.largest_group;
  return scale * BettingLowerBound(game, (1 - task.confidence) / 2);
}

// Returns the weights of the one-sided terms; nullopt if the estimator has
// none.
std::optional<Weight> OneSidedWeightOf(const RankingIntervalTask& task) {
  if (task.of == Of::kLogged) return Weight::kShownPrefix;
  const std::optional<Weight> kind = RankingWeightOf(task.estimator);
  if (kind == Weight::kPseudoInverse) return std::nullopt;
  if (kind == Weight::kMarginal && task.sums->ShownRanksVary()) {
    return std::nullopt;
  }
  return kind;
}

std::optional<Bounds> BettingOf(const RankingIntervalTask& task) {
  const std::optional<Weight> weight = OneSidedWeightOf(task);
  if (!weight.has_value()) return std::nullopt;
  const Sides sides = SidesOf(task, *weight);
  return Bounds{BettingBound(task, sides.above),
                -BettingBound(task, sides.below)};
}

// By LikelihoodBound() or BoundedLikelihoodBound().
template <typename SideBound>
std::optional<Bounds> LikelihoodOf(const RankingIntervalTask& task,
                                   const SideBound& bound) {
  const std::optional<Weight> weight = OneSidedWeightOf(task);
  const GroupSums& sums = task.sums->sums();
  if (!weight.has_value() || sums.num_used_groups() < kMinLikelihoodGroups) {
    return std::nullopt;
  }
  const Bounds range = RangeOf(task);
  const double failure = (1 - task.confidence) / 2;
  const Sides sides = SidesOf(task, *weight);
  return Bounds{bound(sums, sides.above, range.lower, failure),
                -bound(sums, sides.below, -range.upper, failure)};
}

// Whether both sides are nearly normal, with effective sample sizes of at least
// 50.
bool AreNearlyNormal(const RankingIntervalTask& task) {
  constexpr double kFewestEffective = 50;
  const std::optional<Weight> weight = OneSidedWeightOf(task);
  if (!weight.has_value()) return false;
  const RankingSums& sums = *task.sums;
  std::vector<size_t> policies;
  if (task.of != Of::kLogged) policies.push_back(task.policy);
  if (task.of == Of::kGainOverPolicy) policies.push_back(task.other);
  for (const size_t policy : policies) {
    if (sums.EffectiveSampleSize(policy, task.estimator) < kFewestEffective) {
      return false;
    }
  }
  const Sides sides = SidesOf(task, *weight);
  return IsNearlyNormal(sums.sums(), sides.above) &&
         IsNearlyNormal(sums.sums(), sides.below);
}

std::optional<Bounds> MakeBounds(const RankingIntervalTask& task,
                                 IntervalKind kind,
                                 std::span<const Ratio> ratios,
                                 const RatioEstimate& estimate) {
  switch (kind) {
    case IntervalKind::kStudent: {
      if (!std::isfinite(estimate.standard_error)) return std::nullopt;
      const double slack =
          StudentQuantile((1 + task.confidence) / 2, estimate.num_groups - 1) *
          estimate.standard_error;
      return Bounds{estimate.value - slack, estimate.value + slack};
    }
    case IntervalKind::kBootstrap: {
      const std::optional<Interval> interval =
          BootstrapInterval(MakeBlocks(task.sums->sums(), ratios, kMostBlocks),
                            task.confidence, task.seed);
      if (!interval.has_value()) return std::nullopt;
      return Bounds{interval->lower, interval->upper};
    }
    case IntervalKind::kEmpiricalLikelihood:
      return LikelihoodOf(task, LikelihoodBound);
    case IntervalKind::kBoundedLikelihood:
      return LikelihoodOf(task, BoundedLikelihoodBound);
    case IntervalKind::kBetting:
      return BettingOf(task);
    case IntervalKind::kClopperPearson:
    case IntervalKind::kBernstein:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::vector<Ratio> RatiosOf(const RankingIntervalTask& task) {
  const RankingSums& sums = *task.sums;
  if (task.of == Of::kLogged) return {sums.LoggedReward()};
  std::vector<Ratio> value = sums.RatiosOf(task.policy, task.estimator);
  if (value.empty() || task.of == Of::kValue) return value;
  if (task.of == Of::kGainOverLog) {
    return Difference(std::move(value), {sums.LoggedReward()});
  }
  std::vector<Ratio> other = sums.RatiosOf(task.other, task.estimator);
  if (other.empty()) return {};
  return Difference(std::move(value), std::move(other));
}

std::optional<JudgedInterval> MakeRankingInterval(
    const RankingIntervalTask& task, IntervalKind kind) {
  const std::vector<Ratio> ratios = RatiosOf(task);
  if (ratios.empty()) return std::nullopt;
  const RatioEstimate estimate = EstimateRatios(task.sums->sums(), ratios);
  std::optional<Bounds> bounds = MakeBounds(task, kind, ratios, estimate);
  if (!bounds.has_value()) return std::nullopt;
  const Bounds range = RangeOf(task);
  JudgedInterval judged = {{}, estimate.standard_error, kind};
  judged.contradicts_itself = bounds->lower > bounds->upper;
  if (judged.contradicts_itself) bounds = range;
  const auto possible = [&](double x) {
    return std::clamp(x, range.lower, range.upper);
  };
  // An estimate outside of its own interval would say two things at once.
  const double value = possible(estimate.value);
  const Interval unmoved = {estimate.value, possible(bounds->lower),
                            possible(bounds->upper)};
  if (!(unmoved.lower <= unmoved.value && unmoved.value <= unmoved.upper)) {
    judged.unmoved = unmoved;
  }
  judged.interval = {value, std::min(unmoved.lower, value),
                     std::max(unmoved.upper, value)};
  return judged;
}

std::optional<JudgedInterval> BestRankingInterval(
    const RankingIntervalTask& task) {
  if (!OneSidedWeightOf(task).has_value()) return std::nullopt;
  if (AreNearlyNormal(task)) {
    return MakeRankingInterval(task, IntervalKind::kEmpiricalLikelihood);
  }
  if (EffectiveGroups(task.sums->sums(),
                      task.sums->LoggedReward().denominator) >= kFewestGroups) {
    return MakeRankingInterval(task, IntervalKind::kBoundedLikelihood);
  }
  return MakeRankingInterval(task, IntervalKind::kBetting);
}

}  // namespace sortition
