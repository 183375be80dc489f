#include "core/counterfactual/evaluation/value_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/counterfactual/confidence/clopper_pearson.h"
#include "core/counterfactual/evaluation/betting.h"
#include "core/counterfactual/evaluation/controlled_bets.h"
#include "core/counterfactual/evaluation/side_bounds.h"

namespace sortition {
namespace {

using Of = IntervalTask::Of;

double FailureOfSide(const IntervalTask& task) {
  return (1 - task.confidence) / 2;
}

SumFunction Minus(SumFunction a, const SumFunction& b) {
  return Plus(std::move(a), b, -1);
}

// Sums whose means the header bounds.
class Sums {
 public:
  explicit Sums(const PolicySums& sums) : sums_(sums) {}

  SumFunction Count() const { return sums_.LoggedReward().denominator; }
  SumFunction LoggedReward() const { return sums_.LoggedReward().numerator; }
  // ρ r and ρ (1 - r)
  SumFunction Reward(size_t policy) const {
    return sums_.RatiosOf(policy, {EstimatorKind::kIps})[0].numerator;
  }
  SumFunction Regret(size_t policy) const {
    return Minus(sums_.MeanWeight(policy).numerator, Reward(policy));
  }

  // By group; each term of `function` is at least -least.
  std::vector<BettingRound> Rounds(const SumFunction& function,
                                   double least) const {
    const SumFunction count = Count();
    std::vector<BettingRound> rounds;
    for (size_t g = 0; g < sums_.sums().num_groups(); ++g) {
      if (!sums_.sums().is_used(g)) continue;
      const std::span<const double> group = sums_.sums().group(g);
      const double size = Apply(count, group);
      // Rounding may leave less.
      rounds.push_back({std::max(Apply(function, group), -least * size), size});
    }
    return rounds;
  }

 private:
  const PolicySums& sums_;
};

// That a round could have.
double LargestCount(const IntervalTask& task,
                    std::span<const BettingRound> rounds) {
  if (task.largest_group.has_value() && !task.units_are_decisions) {
    return *task.largest_group;
  }
  double largest = 0;
  for (const BettingRound& round : rounds) {
    largest = std::max(largest, round.count);
  }
  return largest > 0 ? largest : 1;
}

// The largest |d| of ControlledRound.
double LimitOf(const IntervalTask& task) {
  const PolicySums& sums = *task.sums;
  switch (task.of) {
    case Of::kLogged:
      return std::numeric_limits<double>::infinity();
    case Of::kGainOverPolicy:
      return std::max({1.0, sums.LargestWeight(task.policy),
                       sums.LargestWeight(task.other)});
    default:
      return std::max(1.0, sums.LargestWeight(task.policy) - 1);
  }
}

// Bets with a control variate; nullopt if weights have no known limit, or one
// so large that they cannot win.
std::optional<ControlledSides> ControlledSidesOf(const IntervalTask& task) {
  const double limit = LimitOf(task);
  if (!std::isfinite(limit)) return std::nullopt;
  const PolicySums& sums = *task.sums;
  const Sums terms(sums);
  const bool is_value = task.of == Of::kValue;
  const bool is_pair = task.of == Of::kGainOverPolicy;
  const SumFunction difference =
      Minus(sums.MeanWeight(task.policy).numerator,
            is_pair ? sums.MeanWeight(task.other).numerator : terms.Count());
  const SumFunction product =
      Minus(terms.Reward(task.policy),
            is_pair ? terms.Reward(task.other) : terms.LoggedReward());
  std::vector<ControlledRound> rounds;
  for (size_t g = 0; g < sums.sums().num_groups(); ++g) {
    if (!sums.sums().is_used(g)) continue;
    const std::span<const double> group = sums.sums().group(g);
    rounds.push_back({is_value ? Apply(terms.LoggedReward(), group) : 0,
                      Apply(product, group), Apply(difference, group),
                      Apply(terms.Count(), group)});
  }
  // With bets of at most 1 / (2 L) a bound is never nearer than 2 ln(1/α) L / G
  // for G rounds.
  constexpr double kFewestRounds = 10;
  if (static_cast<double>(rounds.size()) < kFewestRounds * limit) {
    return std::nullopt;
  }
  return ControlledBets(rounds, limit, is_value ? 1 : 0);
}

// The best lower bound of a mean over M.
double BestClipBound(const PolicySums& sums, size_t policy, ClippedTerm term,
                     double failure) {
  double best = -std::numeric_limits<double>::infinity();
  const double n = static_cast<double>(sums.rewards().count);
  for (size_t clip = 0; clip < kNumParameters; ++clip) {
    const WeightMoments::MeanAndVariance moments =
        sums.weights(policy).Of(term, clip, sums.rewards());
    // All terms have a range of M.
    best = std::max(best, moments.mean - EmpiricalBernsteinSlack(
                                             n, moments.variance, kClips[clip],
                                             failure / kNumParameters));
  }
  return best;
}

Bounds BernsteinGain(const PolicySums& sums, size_t policy, double failure) {
  return {BestClipBound(sums, policy, ClippedTerm::kGain, failure),
          -BestClipBound(sums, policy, ClippedTerm::kLostRegret, failure)};
}

Bounds BernsteinOfLog(const RewardMoments& rewards, double failure) {
  const double n = static_cast<double>(rewards.count);
  const double mean = rewards.reward / n;
  const double variance =
      std::max(0.0, (rewards.square - rewards.reward * mean) / (n - 1));
  const double slack = EmpiricalBernsteinSlack(n, variance, 1, failure);
  return {mean - slack, mean + slack};
}

bool GoesByDecision(const IntervalTask& task) {
  return task.units_are_decisions && task.sums->rewards().is_whole &&
         task.sums->rewards().count >= 2;
}

}  // namespace

OneSidedSums OneSidedSumsOf(const IntervalTask& task) {
  const Sums sums(*task.sums);
  const SumFunction count = sums.Count();
  const SumFunction logged = sums.LoggedReward();
  switch (task.of) {
    case Of::kLogged:
      return {logged, Minus(count, logged), 0, 1};
    case Of::kValue:
      return {sums.Reward(task.policy), sums.Regret(task.policy), 0, 1};
    case Of::kGainOverLog:
      return {Minus(sums.Reward(task.policy), logged),
              Minus(sums.Regret(task.policy), Minus(count, logged)), 1, 0};
    case Of::kGainOverPolicy:
      return {Minus(Plus(sums.Reward(task.policy), sums.Regret(task.other), 1),
                    count),
              Minus(Plus(sums.Reward(task.other), sums.Regret(task.policy), 1),
                    count),
              1, 0};
  }
  return {};
}

Bounds BettingBounds(const IntervalTask& task) {
  const Sums sums(*task.sums);
  const OneSidedSums terms = OneSidedSumsOf(task);
  const std::optional<ControlledSides> sides = ControlledSidesOf(task);
  const auto bound = [&](const SumFunction& function,
                         const std::vector<BettingRound>& controlled) {
    const std::vector<BettingRound> rounds = sums.Rounds(function, terms.least);
    const double largest = LargestCount(task, rounds);
    std::vector<BettingGame> games = {{rounds, terms.least, largest}};
    if (sides.has_value()) {
      games.push_back({controlled, LimitOf(task), largest});
    }
    return BettingLowerBound(games, FailureOfSide(task));
  };
  const std::vector<BettingRound> none;
  return {
      bound(terms.above, sides.has_value() ? sides->above : none),
      terms.top - bound(terms.below, sides.has_value() ? sides->below : none)};
}

std::optional<Bounds> BernsteinBounds(const IntervalTask& task) {
  if (!GoesByDecision(task)) return std::nullopt;
  const PolicySums& sums = *task.sums;
  const double failure = FailureOfSide(task);
  switch (task.of) {
    case Of::kLogged:
      return BernsteinOfLog(sums.rewards(), failure);
    case Of::kValue:
      return Bounds{
          BestClipBound(sums, task.policy, ClippedTerm::kReward, failure),
          1 - BestClipBound(sums, task.policy, ClippedTerm::kRegret, failure)};
    case Of::kGainOverLog:
      return BernsteinGain(sums, task.policy, failure);
    case Of::kGainOverPolicy: {
      const Bounds a = BernsteinGain(sums, task.policy, failure / 2);
      const Bounds b = BernsteinGain(sums, task.other, failure / 2);
      return Bounds{a.lower - b.upper, a.upper - b.lower};
    }
  }
  return std::nullopt;
}

std::optional<Bounds> ClopperPearsonBounds(const IntervalTask& task) {
  const PolicySums& sums = *task.sums;
  if (!GoesByDecision(task) || !sums.rewards().is_binary) return std::nullopt;
  // Of the probability that `sum` counts, in units of `weight`.
  const auto interval = [&](double sum, double weight) {
    return ClopperPearsonInterval(
        static_cast<uint64_t>(std::llround(sum / weight)), sums.rewards().count,
        task.confidence);
  };
  if (task.of == Of::kLogged) {
    const Interval logged = interval(sums.rewards().reward, 1);
    return Bounds{logged.lower, logged.upper};
  }
  const double weight = sums.weights(task.policy).largest();
  if (task.of != Of::kValue || weight == 0 ||
      !sums.weights(task.policy).has_one_weight()) {
    return std::nullopt;
  }
  const Sums terms(sums);
  const Interval reward =
      interval(ApplyToTotals(terms.Reward(task.policy), sums.sums()), weight);
  if (HasKnownWeight(task)) {
    return Bounds{weight * reward.lower, weight * reward.upper};
  }
  const Interval regret =
      interval(ApplyToTotals(terms.Regret(task.policy), sums.sums()), weight);
  return Bounds{weight * reward.lower, 1 - weight * regret.lower};
}

bool HasKnownWeight(const IntervalTask& task) {
  const WeightMoments& weights = task.sums->weights(task.policy);
  return weights.has_one_weight() && task.sums->LargestWeight(task.policy) <=
                                         weights.largest() * (1 + 1e-9);
}

}  // namespace sortition
