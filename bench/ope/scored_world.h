#pragma once
// Worlds whose policies are softmax of scores.
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/ope/tabular_world.h"

namespace sortition {

struct ScoredAction {
  double logging_score = 0;
  double target_score = 0;
  double reward = 0;
  double late_reward = 0;
  double model = 0;
};
struct ScoredWorld {
  std::vector<std::vector<ScoredAction>> contexts;
  double logging_floor = 0;  // Uniform shares of the policies.
  double target_floor = 0;
};

// Gives the target the scores (1 - step) logging_score + step target_score.
TabularWorld AtStep(const ScoredWorld& scored, double step);

// Chooses the step within [0, 1] at which the target earns `improvement`
// (relative) more than the logging policy. FailedPrecondition if there is none.
absl::StatusOr<TabularWorld> WithImprovement(const ScoredWorld& scored,
                                             double improvement);

struct SoftmaxWorldOptions {
  int contexts = 500;
  int actions = 5;
  double logging_skill = 0.3;  // Correlation of scores with what is rewarded.
  double target_skill = 0.9;
  double logging_sharpness = 1;  // Standard deviation of the scores.
  double target_sharpness = 2;
  double logging_floor = 0.1;
  double target_floor = 0;
  double least_reward = 0.1;
  double most_reward = 0.9;
  bool drifts = false;  // In the end, rewards are others.
};
ScoredWorld MakeSoftmaxWorld(const SoftmaxWorldOptions& options, uint64_t seed);

// The world of ./dev demo: five to fifty candidates or no answer; a first model
// fitted to 20 labelled queries logs at inverse temperature 0.5, with 10 %
// uniform; the target's is fitted to all others.
absl::StatusOr<ScoredWorld> MakeDemoWorld();

}  // namespace sortition
