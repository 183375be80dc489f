#pragma once
// POEM over a grid of λ and μ, in parallel; the best is chosen by
// counterfactual validation [SwaminathanJoachims15, sec. 6].
#include <span>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/learners/bandit_tuple.h"
#include "core/learners/linear_tuple_policy.h"
#include "sortition/config/v1/learner.pb.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

struct GridTask {
  LinearFamily family;
  std::span<const BanditTuple> train;
  std::span<const BanditTuple> validation;
  config::v1::PoemOptions options;
  double clip = 1;               // M of the objective.
  Eigen::VectorXd parent_start;  // Empty: there is none.
};

struct GridOutcome {
  Eigen::VectorXd parameters;  // Of the chosen point.
  // All points in the order of the options; rewards scaled to [0, 1].
  std::vector<model::v1::Evaluation::GridPoint> points;
};

// Trains every point on `train` and chooses the one with the highest lower
// confidence bound of the improvement on `validation` (the first of equals):
// the unbiased estimate of eq. 1, reported beside it, can be ruled by a few
// huge weights. Threads change the time only, not the result. A point that
// diverges is kept in the list as "diverged"; Internal where all do.
absl::StatusOr<GridOutcome> TrainGrid(const GridTask& task);

}  // namespace sortition
