#pragma once
// Worlds of which everything is known: finitely many contexts, and for each
// action its probabilities and its reward. Logs are drawn from them.
#include <cstdint>
#include <vector>

#include "core/counterfactual/evaluation/policy_sums.h"

namespace sortition {

struct WorldAction {
  double logging = 0;  // Probability that the logging policy takes it.
  double target = 0;
  double reward = 0;       // Probability of the reward 1 in the beginning.
  double late_reward = 0;  // The same in the end; between, in proportion.
  double model = 0;        // What a model expects, rightly or not.
};
using WorldContext = std::vector<WorldAction>;
using TabularWorld = std::vector<WorldContext>;  // Equally likely contexts.

// Who asks. Units are independent of each other.
struct LogShape {
  uint64_t num_units = 1000;
  // Numbers of decisions of a unit, equally likely. Units that have the last of
  // several like action 0; any other unit likes an action by chance.
  std::vector<uint32_t> unit_sizes = {1};
  // How far the reward is that of the liked action (1) alone, in [0, 1].
  double taste = 0;
  double censored = 0;  // Share of decisions left out, whatever their reward.
};

struct LoggedDecision {
  uint64_t unit = 0;
  uint32_t unit_number = 0;
  double reward = 0;
  JudgedDecision judged;
};

// Draws a log, in the order of time. Requires equal numbers of actions where
// there is a taste.
std::vector<LoggedDecision> DrawLog(const TabularWorld& world,
                                    const LogShape& shape, uint64_t seed);

struct Truth {
  double value = 0;   // Of the target, in the mean over time.
  double logged = 0;  // Of the logging policy.
  double gain() const { return value - logged; }
};

// What a decision earns in expectation if no unit counts as more than
// max(1, √n / 2) decisions, n units (UnitSizes).
Truth TruthOf(const TabularWorld& world, const LogShape& shape);

}  // namespace sortition
