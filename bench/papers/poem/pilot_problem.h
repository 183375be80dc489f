#pragma once
// The simulated worlds of the pilot: see bench_pilot.cc.
#include <memory>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/data/labelled_queries.h"
#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "core/policies/distributions/action_distribution.h"

namespace sortition {

struct PilotOptions {
  int labelled = 8;   // Queries that the logging policy is fitted to.
  int features = 20;  // Features of a candidate.
  // α; 0: chosen to abstain like the threshold rule.
  double inverse_temperature = 0;
  int train = 4000;     // Tuples to learn from.
  int held_out = 500;   // Tuples to validate on, and to test on.
  double noise = 0.05;  // Chance that a verdict is flipped.
};

// Mean rewards of a policy and of its most probable answers.
struct Rewards {
  double sampled = 0;
  double map = 0;
};

// One world with its logging policy and log.
struct PilotProblem {
  LinearFamily family;
  Eigen::VectorXd logging;
  std::unique_ptr<const ActionDistribution> distribution;
  std::vector<BanditTuple> tuples;
  std::vector<LabelledQuery> fresh;  // For the true reward.
  // Parts of `tuples`.
  std::span<const BanditTuple> train, validation, test;

  // Returns the mean over `fresh`, which is exact over the policy's randomness.
  Rewards TrueRewards(const Eigen::VectorXd& parameters) const;
};

// Makes a problem that depends only on the options and `run`.
absl::StatusOr<std::unique_ptr<PilotProblem>> MakePilotProblem(
    const PilotOptions& options, int run);

}  // namespace sortition
