#include "core/counterfactual/rankings/ranking_intervals.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/counterfactual/confidence/bootstrap.h"
#include "core/counterfactual/confidence/empirical_likelihood.h"
#include "core/counterfactual/evaluation/betting.h"
#include "core/counterfactual/evaluation/group_blocks.h"
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

SumFunction Plus(SumFunction a, const SumFunction& b, double factor) {
  for (const SumTerm& term : b) a.push_back({term.entry, factor * term.factor});
  return a;
}

// `above` has a mean of at most what the task is about, `below` one of at most
// its negative. In units of the largest value each term is at least -least.
struct Sides {
  SumFunction above;
  SumFunction below;
  double least = 0;
};

Sides SidesOf(const RankingIntervalTask& task, Weight weight) {
  const RankingSums& sums = *task.sums;
  const SumFunction largest = sums.LargestReward();
  const SumFunction logged = sums.LoggedReward().numerator;
  if (task.of == Of::kLogged) return {logged, Plus({}, logged, -1), 0};
  const SumFunction gain = sums.PlainTerm(task.policy, weight);
  const SumFunction regret =
      Plus(sums.PlainRegret(task.policy, weight), largest, -1);
  switch (task.of) {
    case Of::kGainOverLog:
      return {Plus(gain, logged, -1), Plus(regret, logged, 1), 1};
    case Of::kGainOverPolicy:
      return {Plus(gain,
                   Plus(sums.PlainRegret(task.other, weight), largest, -1), 1),
              Plus(regret, sums.PlainTerm(task.other, weight), 1), 1};
    default:
      return {gain, regret, 0};
  }
}

// The lower bound of the mean of `function` by bets, where terms are at least
// -least times the largest value.
double LowerBound(const RankingIntervalTask& task, const SumFunction& function,
                  double least) {
  const GroupSums& sums = task.sums->sums();
  const SumFunction count = task.sums->LoggedReward().denominator;
  const double scale = task.sums->options().value.Largest();
  std::vector<BettingRound> rounds;
  double largest = 0;
  for (size_t g = 0; g < sums.num_groups(); ++g) {
    if (!sums.is_used(g)) continue;
    const std::span<const double> group = sums.group(g);
    const double size = Apply(count, group);
    // Rounding may leave less.
    rounds.push_back(
        {std::max(Apply(function, group) / scale, -least * size), size});
    largest = std::max(largest, size);
  }
  BettingGame game = {rounds, least, largest > 0 ? largest : 1};
  if (task.largest_group.has_value()) game.largest_count = *task.largest_group;
  return scale * BettingLowerBound(game, (1 - task.confidence) / 2);
}

std::optional<Bounds> BettingOf(const RankingIntervalTask& task) {
  Weight weight = Weight::kShownPrefix;
  if (task.of != Of::kLogged) {
    const std::optional<Weight> kind = RankingWeightOf(task.estimator);
    if (!kind.has_value() || *kind == Weight::kPseudoInverse) {
      return std::nullopt;
    }
    weight = *kind;
  }
  const Sides sides = SidesOf(task, weight);
  return Bounds{LowerBound(task, sides.above, sides.least),
                -LowerBound(task, sides.below, 1)};
}

std::optional<Bounds> LikelihoodOf(const RankingIntervalTask& task,
                                   std::span<const Ratio> ratios) {
  LikelihoodTask likelihood;
  likelihood.blocks = MakeBlocks(task.sums->sums(), ratios, kMostBlocks);
  likelihood.least = RangeOf(task).lower;
  likelihood.most = RangeOf(task).upper;
  const std::optional<Interval> interval =
      EmpiricalLikelihoodInterval(likelihood, task.confidence);
  if (!interval.has_value()) return std::nullopt;
  return Bounds{interval->lower, interval->upper};
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
      return LikelihoodOf(task, ratios);
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
  // An estimate outside of its own interval would say two things at once.
  judged.interval = {
      estimate.value,
      std::min(std::clamp(bounds->lower, range.lower, range.upper),
               estimate.value),
      std::max(std::clamp(bounds->upper, range.lower, range.upper),
               estimate.value)};
  return judged;
}

std::optional<JudgedInterval> BestRankingInterval(
    const RankingIntervalTask& task) {
  constexpr double kFewestEffective = 50;
  const RankingSums& sums = *task.sums;
  bool is_normal = IsNearlyNormal(sums.sums(), RatiosOf(task));
  if (task.of != Of::kLogged) {
    is_normal =
        is_normal && sums.EffectiveSampleSize(task.policy, task.estimator) >=
                         kFewestEffective;
  }
  if (task.of == Of::kGainOverPolicy) {
    is_normal =
        is_normal && sums.EffectiveSampleSize(task.other, task.estimator) >=
                         kFewestEffective;
  }
  if (is_normal) {
    const auto likelihood =
        MakeRankingInterval(task, IntervalKind::kEmpiricalLikelihood);
    if (likelihood.has_value()) return likelihood;
  }
  const auto bets = MakeRankingInterval(task, IntervalKind::kBetting);
  if (bets.has_value()) return bets;
  return MakeRankingInterval(task, IntervalKind::kStudent);
}

}  // namespace sortition
