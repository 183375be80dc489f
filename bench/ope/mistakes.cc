// The figures of docs/five_ways_to_be_wrong.md.
#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "absl/strings/str_format.h"
#include "bench/ope/gates.h"
#include "bench/ope/parts.h"
#include "bench/ope/tabular_world.h"
#include "bench/support/statistics.h"
#include "core/base/random.h"

namespace sortition {
namespace {

using Log = std::span<const LoggedDecision>;

constexpr int kActions = 5;

WorldAction Action(double logging, double target, double reward) {
  return {.logging = logging,
          .target = target,
          .reward = reward,
          .late_reward = reward};
}

// Contexts of five actions that are equally good on average, logged uniformly;
// the target prefers some of them.
TabularWorld NullWorld(uint64_t seed, size_t num_contexts = 1) {
  RandomSequence random(SeedKey(seed));
  TabularWorld world(num_contexts,
                     WorldContext(kActions, Action(1.0 / kActions, 0, 0.6)));
  for (WorldContext& context : world) {
    double sum = 0;
    for (WorldAction& action : context) {
      sum += action.target = std::exp(2 * random.Normal());
    }
    for (WorldAction& action : context) action.target /= sum;
  }
  return world;
}

double MeanOf(Log log,
              const std::function<double(const LoggedDecision&)>& value) {
  double sum = 0;
  for (const LoggedDecision& decision : log) sum += value(decision);
  return sum / static_cast<double>(log.size());
}

double WeightOf(const LoggedDecision& decision) {
  return std::exp(decision.judged.log_weight);
}

// What the target is estimated to earn more than the log.
double GainOf(Log log) {
  return MeanOf(log, [](const LoggedDecision& decision) {
    return (WeightOf(decision) - 1) * decision.reward;
  });
}

double SelfNormalised(Log log) {
  const double rewards = MeanOf(log, [](const LoggedDecision& decision) {
    return WeightOf(decision) * decision.reward;
  });
  return rewards / MeanOf(log, WeightOf);
}

// The share of `logs` logs, in %, of which a claim is made.
double PercentOf(int logs, const std::function<bool(uint64_t seed)>& claim) {
  int claims = 0;
  for (int log = 0; log < logs; ++log) {
    claims += claim(static_cast<uint64_t>(log) + 1) ? 1 : 0;
  }
  return 100.0 * claims / logs;
}

// The mean over `logs` logs.
double AverageOf(int logs, const std::function<double(uint64_t seed)>& number) {
  double sum = 0;
  for (int log = 0; log < logs; ++log) {
    sum += number(static_cast<uint64_t>(log) + 1);
  }
  return sum / logs;
}

void UsersComeBack(int logs) {
  const LogShape shape = {.num_units = 100, .unit_sizes = {50}, .taste = 0.5};
  const auto passes = [&](bool by_unit) {
    return PercentOf(logs, [&](uint64_t seed) {
      const GateSample sample = SampleOf(DrawLog(NullWorld(seed), shape, seed));
      return NormalGate(sample, sample.rewards.size(), by_unit) > 0;
    });
  };
  const double bets = PercentOf(logs, [&](uint64_t seed) {
    const GateSample sample = SampleOf(DrawLog(NullWorld(seed), shape, seed));
    return BettingGate(sample, sample.rewards.size(), 0) > 0;
  });
  absl::PrintF(
      "1 users come back: 100 users, 50 decisions each, B no better. 'B is "
      "better': by decision %.1f %%, by user %.1f %%, bets by user %.1f %%\n",
      passes(false), passes(true), bets);
}

// Chooses the best of twenty policies by the first of two logs. Returns both.
struct Winner {
  GateSample chosen_on;
  GateSample fresh;
  double claim = -1;
};
Winner BestOfTwenty(uint64_t seed) {
  const LogShape shape = {.num_units = 2000};
  Winner winner;
  for (uint64_t policy = 0; policy < 20; ++policy) {
    const TabularWorld world = NullWorld(seed * 20 + policy, 20);
    // Equal seeds: all policies are judged on the same decisions.
    const std::vector<LoggedDecision> log = DrawLog(world, shape, 2 * seed);
    if (GainOf(log) <= winner.claim) continue;
    winner.claim = GainOf(log);
    winner.chosen_on = SampleOf(log);
    winner.fresh = SampleOf(DrawLog(world, shape, 2 * seed + 1));
  }
  return winner;
}

void BestOfMany(int logs) {
  const auto passes = [](const GateSample& sample) {
    return NormalGate(sample, sample.rewards.size(), true) > 0;
  };
  absl::PrintF(
      "2 best of 20 policies, none better, 2,000 decisions. 'The best is "
      "better': on the decisions that chose it %.1f %%, on others %.1f %%; "
      "mean claim %+.3f\n",
      PercentOf(
          logs,
          [&](uint64_t seed) { return passes(BestOfTwenty(seed).chosen_on); }),
      PercentOf(
          logs,
          [&](uint64_t seed) { return passes(BestOfTwenty(seed).fresh); }),
      AverageOf(logs, [](uint64_t seed) { return BestOfTwenty(seed).claim; }));
}

void FewDecide(int logs) {
  const TabularWorld rare = {
      {Action(0.999, 0.05, 0.5), Action(0.001, 0.95, 0.5)}};
  const LogShape shape = {.num_units = 2000};
  std::vector<double> gains;
  const double holds = PercentOf(logs, [&](uint64_t seed) {
    const auto log = DrawLog(rare, shape, seed);
    gains.push_back(GainOf(log));
    const double half =
        gains.back() - NormalGate(SampleOf(log), log.size(), true);
    return std::fabs(gains.back()) <= half;
  });
  const double bets = PercentOf(logs, [&](uint64_t seed) {
    const auto log = DrawLog(rare, shape, seed);
    return BettingGate(SampleOf(log), log.size(), 0) <= 0;
  });
  const Spread spread = SpreadOf(gains);
  absl::PrintF(
      "3 few decide: B does what the log did once in 1,000; both earn 0.5; "
      "2,000 decisions. Gain: median %+.2f, from %+.2f to %+.2f; the normal "
      "interval that says 95 %% holds in %.0f %%, the lower bound by bets in "
      "%.1f %%\n",
      spread.median, spread.lowest, spread.highest, holds, bets);
  // B's second action earns nothing, and the log never took it.
  const TabularWorld never = {{Action(1, 0.3, 0.6), Action(0, 0.7, 0)}};
  absl::PrintF(
      "3 no support: B does in 70 %% of cases what the log never did; it earns "
      "0.18. Self-normalised %.2f, mean weight %.2f (1 expected)\n",
      AverageOf(logs,
                [&](uint64_t seed) {
                  return SelfNormalised(DrawLog(never, shape, seed));
                }),
      AverageOf(logs, [&](uint64_t seed) {
        return MeanOf(DrawLog(never, shape, seed), WeightOf);
      }));
}

void RewardsAreMissing(int logs) {
  // B takes the first action more often, which earns 0.6 where others earn 0.3.
  TabularWorld world = {{Action(0.2, 0.6, 0.6)}};
  for (int a = 1; a < kActions; ++a) {
    world[0].push_back(Action(0.2, 0.1, 0.3));
  }
  const LogShape shape = {.num_units = 5000};
  const Truth truth = TruthOf(world, shape);
  // Who was content answers always, who was not in three of ten cases.
  const auto answered = [&](uint64_t seed) {
    RandomSequence random(SeedKey(seed + 1'000'000));
    std::vector<LoggedDecision> log = DrawLog(world, shape, seed);
    std::erase_if(log, [&](const LoggedDecision& decision) {
      return random.Uniform() >= (decision.reward > 0 ? 1 : 0.3);
    });
    return log;
  };
  absl::PrintF(
      "4 missing rewards: B earns %.2f, A %.2f. Without those that gave no "
      "feedback: B %.2f, A %.2f\n",
      truth.value, truth.logged,
      AverageOf(logs,
                [&](uint64_t seed) { return SelfNormalised(answered(seed)); }),
      AverageOf(logs, [&](uint64_t seed) {
        return MeanOf(answered(seed), [](const LoggedDecision& decision) {
          return decision.reward;
        });
      }));
  // A fifth of the decisions is overridden, whatever they were. B is A.
  absl::PrintF(
      "4 overrides in 20 %% of decisions, B is A. Gain with weight 0 for "
      "them: %+.3f; with the weight of the decision %+.3f\n",
      AverageOf(logs,
                [&](uint64_t seed) {
                  RandomSequence random(SeedKey(seed + 2'000'000));
                  return MeanOf(DrawLog(world, shape, seed),
                                [&](const LoggedDecision& decision) {
                                  const bool is_overridden =
                                      random.Uniform() < 0.2;
                                  return is_overridden ? -decision.reward : 0;
                                });
                }),
      0.0);
}

void WorldChanges(int logs) {
  // What B prefers falls out of fashion.
  WorldAction falling = Action(0.5, 0.8, 0.7);
  falling.late_reward = 0.3;
  const TabularWorld world = {{falling, Action(0.5, 0.2, 0.4)}};
  const LogShape shape = {.num_units = 8000};
  const auto gain_of = [&](size_t newest) {
    return AverageOf(logs, [&](uint64_t seed) {
      const std::vector<LoggedDecision> log = DrawLog(world, shape, seed);
      return GainOf(Log(log).last(newest));
    });
  };
  absl::PrintF(
      "5 the world changes: B's gain over the whole log %+.3f, over the newest "
      "tenth %+.3f, truth at the end %+.3f\n",
      gain_of(shape.num_units), gain_of(shape.num_units / 10),
      0.3 * (0.3 - 0.4));
}

}  // namespace

std::vector<Target> MeasureMistakes(const OpeBenchOptions& options) {
  absl::PrintF("\nWays to be wrong, over %d logs each (best of 20: %d)\n",
               options.logs, options.logs / 5);
  UsersComeBack(options.logs);
  BestOfMany(options.logs / 5);
  FewDecide(options.logs);
  RewardsAreMissing(options.logs / 10);
  WorldChanges(options.logs / 10);
  return {};
}

}  // namespace sortition
