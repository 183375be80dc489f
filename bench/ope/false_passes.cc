// How often the gate lets a policy pass that is no better, at one look and at
// one every hour.
#include <cmath>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/ope/gates.h"
#include "bench/ope/parts.h"
#include "bench/ope/tabular_world.h"
#include "core/base/random.h"

namespace sortition {
namespace {

constexpr int kActions = 5;
constexpr uint64_t kLooks = 96;
constexpr size_t kDecisionsOfLook = 50;

// Logged uniformly; users like one action each, so that every target earns what
// the log earned.
TabularWorld NullWorld(uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  WorldContext context(kActions);
  double sum = 0;
  for (WorldAction& action : context) {
    action.logging = 1.0 / kActions;
    action.reward = action.late_reward = 0.6;
    sum += action.target = std::exp(2 * random.Normal());
  }
  for (WorldAction& action : context) action.target /= sum;
  return {context};
}

LogShape ShapeOf(uint32_t decisions_of_unit) {
  return {.num_units = kLooks * kDecisionsOfLook / decisions_of_unit,
          .unit_sizes = {decisions_of_unit},
          .taste = 0.5};
}

enum Gate { kBets, kBetsWithoutLedger, kBernstein, kNormal, kNumGates };
constexpr const char* kGateNames[] = {
    "bets by unit, ledger of looks", "bets by unit, no ledger",
    "empirical Bernstein by decision (before)", "normal, by decision"};
static_assert(std::size(kGateNames) == kNumGates);

// What the gates say of a sample, at its `look`-th look.
struct Verdicts {
  bool passes[kNumGates] = {};
};

Verdicts Judge(const GateSample& validation, const GateSample& sample,
               size_t size, uint64_t look) {
  Verdicts verdicts;
  const double bets = BettingGate(sample, size, 0);
  verdicts.passes[kBetsWithoutLedger] = bets > 0;
  // A smaller share only lowers the bound.
  verdicts.passes[kBets] = bets > 0 && BettingGate(sample, size, look) > 0;
  verdicts.passes[kBernstein] = BernsteinGate(validation, sample, size) > 0;
  verdicts.passes[kNormal] = NormalGate(sample, size, false) > 0;
  return verdicts;
}

// Draws the log again for another target: who asked, and what was answered and
// earned, does not depend on it.
GateSample WithTarget(GateSample sample, std::span<const size_t> actions,
                      const WorldContext& context) {
  for (size_t i = 0; i < actions.size(); ++i) {
    const WorldAction& action = context[actions[i]];
    sample.log_weights[i] = std::log(action.target / action.logging);
  }
  return sample;
}

struct NullLog {
  GateSample sample;
  std::vector<size_t> actions;
};

// The first target's weights say what was answered.
NullLog DrawNullLog(const LogShape& shape, uint64_t seed) {
  TabularWorld world = NullWorld(seed);
  for (size_t a = 0; a < kActions; ++a) {
    world[0][a].target = static_cast<double>(a + 1) / kActions;
  }
  NullLog log{SampleOf(DrawLog(world, shape, seed)), {}};
  for (const double log_weight : log.sample.log_weights) {
    log.actions.push_back(
        static_cast<size_t>(std::lround(std::exp(log_weight))) - 1);
  }
  return log;
}

// Returns which gates let a new target pass at one of the looks, at the end of
// each of `looks` equal parts of the log.
Verdicts LookOften(const LogShape& shape, uint64_t looks, uint64_t seed) {
  const NullLog validation = DrawNullLog(shape, 2 * seed);
  const NullLog test = DrawNullLog(shape, 2 * seed + 1);
  Verdicts any;
  for (uint64_t look = 1; look <= looks; ++look) {
    const WorldContext target = NullWorld(seed * 1000 + look)[0];
    const size_t size = test.actions.size() * look / looks;
    const Verdicts verdicts =
        Judge(WithTarget(validation.sample, validation.actions, target),
              WithTarget(test.sample, test.actions, target), size, look);
    for (int gate = 0; gate < kNumGates; ++gate) {
      any.passes[gate] |= verdicts.passes[gate];
    }
  }
  return any;
}

}  // namespace

std::vector<Target> MeasureFalsePasses(const OpeBenchOptions& options) {
  absl::PrintF(
      "\nFalse passes: logs in which a policy that is no better passed, %%\n"
      "%-10s %6s %6s",
      "decisions", "looks", "logs");
  for (const char* name : kGateNames) absl::PrintF("  %s", name);
  absl::PrintF("\n");
  std::vector<Target> targets;
  for (const uint32_t decisions_of_unit : {1, 10, 50}) {
    for (const uint64_t looks : {uint64_t{1}, kLooks}) {
      const int logs = looks == 1 ? options.logs : options.looking_logs;
      int passed[kNumGates] = {};
      for (int log = 0; log < logs; ++log) {
        const Verdicts verdicts = LookOften(ShapeOf(decisions_of_unit), looks,
                                            static_cast<uint64_t>(log) + 1);
        for (int gate = 0; gate < kNumGates; ++gate) {
          passed[gate] += verdicts.passes[gate] ? 1 : 0;
        }
      }
      absl::PrintF("%-2d a unit  %6d %6d", decisions_of_unit, looks, logs);
      for (const int count : passed) {
        absl::PrintF("  %8.1f", 100.0 * count / logs);
      }
      absl::PrintF("\n");
      std::fflush(stdout);
      targets.push_back({absl::StrCat("false passes, ", decisions_of_unit,
                                      " a unit, looks: ", looks),
                         static_cast<double>(passed[kBets]) / logs, 0.025});
    }
  }
  return targets;
}

}  // namespace sortition
