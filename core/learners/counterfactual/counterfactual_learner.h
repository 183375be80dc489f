#pragma once
// Runs any objective of PoemOptions with any optimiser at one point. The
// objectives are explained in sortition/config/v1/poem.proto and
// core/counterfactual/{weighted_terms,risks}.h.
#include <cstdint>
#include <functional>
#include <string>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/counterfactual/loss_model.h"
#include "core/counterfactual/tuple_policy.h"
#include "core/learners/counterfactual/grid_risk.h"
#include "sortition/config/v1/poem.pb.h"

namespace sortition {

struct CounterfactualRun {
  // Its grids (λ, μ, β), clip and start are ignored.
  config::v1::PoemOptions options = {};
  double clip = 1;  // M, if the objective has one.
  double lambda = 0;
  double smoothing = 1;        // β: weights are h / p^β. Without a risk.
  double l2 = 0;               // μ, whatever the penalty.
  Eigen::VectorXd start = {};  // Empty: 0.
  Eigen::VectorXd prior = {};  // w₀ of PROXIMAL; empty: 0.
  // Unit of each parameter, if the options standardise; empty: 1.
  Eigen::VectorXd scales = {};
  // What is minimised instead of the weighted losses of the tuples; null:
  // those.
  GridRisk* risk = nullptr;
  // Called after each round; may be empty.
  std::function<void(uint32_t round)> on_round = {};
};

struct CounterfactualResult {
  Eigen::VectorXd parameters;
  double objective = 0;     // Over all tuples at `parameters`.
  uint32_t epochs = 0;      // STOCHASTIC
  uint32_t iterations = 0;  // BATCH
  std::string termination;
};

// Returns κ, the size of the losses: their root mean square, or for
// SELF_NORMALISED, which does not see shifts, their standard deviation; 1 if
// that is 0. Objectives divided by it do not depend on the losses' unit. With β
// = `smoothing` losses count as much as they do for the policy that logged
// (MomentsOfLogging), so that μ weighs as much against risks of any β. Where
// that does not make the objective smaller, β changes nothing: SELF_NORMALISED
// divides by the weights, DOUBLY_ROBUST has the loss model as it is.
double LossUnit(config::v1::PoemOptions::Objective objective,
                const TuplePolicy& policy, double smoothing = 1);

// Trains at one point. Deterministic: the same data and run give the same bits.
// `model` is the loss model of DOUBLY_ROBUST without a risk, otherwise null. If
// every weight is clipped, only the penalty has a gradient, so the result is
// the start or closer to where it pulls. The KL penalty is of the propensities
// themselves, whatever `smoothing`. InvalidArgument if there are fewer than 2
// tuples, if the options need a risk and there is none, or if a loss, a
// propensity, a parameter of the run or the start is out of range; Internal if
// a parameter or the objective became NaN or infinite.
absl::StatusOr<CounterfactualResult> TrainCounterfactual(
    TuplePolicy* policy, LossModel* model, const CounterfactualRun& run);

}  // namespace sortition
