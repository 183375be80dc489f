#include "core/learners/game_learner.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

using config::v1::GameOptions;

// Tolerance of each game while J's gap is wide, as a share of it: little beside
// the planes' own error. At most kLoosest.
constexpr double kGameShare = 0.05;
constexpr double kLoosest = 1e-3;

// Solves games as the gap needs before `watcher` is asked.
DescentWatcher FollowGap(GameObjective* objective,
                         const DescentWatcher& watcher) {
  const double tightest = objective->task().options.game_tolerance();
  objective->SetGameTolerance(std::max(kLoosest, tightest));
  return [=](const DescentResult& so_far) {
    objective->SetGameTolerance(std::clamp(kGameShare * so_far.gap(), tightest,
                                           std::max(kLoosest, tightest)));
    return watcher && watcher(so_far);
  };
}

// Falling, so that each start is near. By default 1 / (C N), C = 2^-6 .. 2^6
// the weight of the sum over queries beside ‖θ‖² / 2 [WangXingAsifZiebart15,
// sec. 4].
absl::StatusOr<std::vector<double>> Lambdas(const GameOptions& options,
                                            size_t num_queries) {
  std::vector<double> lambdas(options.lambda().begin(), options.lambda().end());
  if (lambdas.empty()) {
    for (int power = 6; power >= -6; --power) {
      lambdas.push_back(std::exp2(power) / static_cast<double>(num_queries));
    }
  }
  for (const double lambda : lambdas) {
    if (!(lambda > 0 && lambda < HUGE_VAL)) {
      return absl::InvalidArgumentError(
          absl::StrCat("lambda is ", lambda, ", must be above 0 and finite"));
    }
  }
  std::sort(lambdas.begin(), lambdas.end(), std::greater<>());
  return lambdas;
}

}  // namespace

absl::StatusOr<GameResult> TrainGame(GameObjective* objective, double lambda,
                                     const Eigen::VectorXd& start,
                                     const DescentWatcher& watcher) {
  if (!(lambda > 0 && lambda < HUGE_VAL)) {
    return absl::InvalidArgumentError(
        absl::StrCat("lambda is ", lambda, ", must be above 0 and finite"));
  }
  objective->SetLambda(lambda);
  const GameTask& task = objective->task();
  const GameOptions& options = task.options;
  CertifiedDescent descent(
      objective,
      start.size() > 0 ? start : Eigen::VectorXd::Zero(objective->dimension()),
      {.lbfgs = options.lbfgs(),
       .gap_tolerance = options.gap_tolerance(),
       .max_cuts = options.max_cuts()},
      FollowGap(objective, watcher));
  RETURN_IF_ERROR(descent.Lbfgs("L-BFGS"));
  if (CanSmooth(task)) {
    objective->SetSmoothing(options.smoothing());
    const absl::Status status = descent.Lbfgs("smoothed L-BFGS");
    objective->SetSmoothing(0);
    RETURN_IF_ERROR(status);
  }
  RETURN_IF_ERROR(descent.CuttingPlaneSteps());
  objective->SetGameTolerance(options.game_tolerance());
  return std::move(descent).Finish();
}

absl::StatusOr<GamePath> TrainGamePath(std::span<const GameQuery> training,
                                       std::span<const GameQuery> validation,
                                       const GameOptions& options,
                                       const ParallelFor& parallel_for,
                                       const GameWatcher& watcher) {
  ASSIGN_OR_RETURN(const auto objective,
                   GameObjective::Create(training, options, parallel_for));
  ASSIGN_OR_RETURN(const auto judge,
                   GameObjective::Create(validation, options, parallel_for));
  if (judge->dimension() != objective->dimension()) {
    return absl::InvalidArgumentError(
        absl::StrCat("validation queries have ", judge->task().num_features,
                     " features, must have ", objective->task().num_features,
                     ", as the training queries"));
  }
  ASSIGN_OR_RETURN(const std::vector<double> lambdas,
                   Lambdas(options, objective->task().played.size()));
  GamePath path;
  path.num_skipped = training.size() - objective->task().played.size();
  Eigen::VectorXd start;
  for (const double lambda : lambdas) {
    GamePathPoint point;
    point.lambda = lambda;
    const auto tell = [&](const GameResult& so_far) {
      return watcher && watcher({.point = path.points.size(),
                                 .num_points = lambdas.size(),
                                 .lambda = lambda,
                                 .so_far = so_far});
    };
    ASSIGN_OR_RETURN(point.result,
                     TrainGame(objective.get(), lambda, start, tell));
    ASSIGN_OR_RETURN(point.validation,
                     judge->ExpectedScore(point.result.theta));
    start = point.result.theta;
    path.stopped = point.result.stopped;
    path.points.push_back(std::move(point));
    if (path.stopped) break;
  }
  for (size_t p = 1; p < path.points.size(); ++p) {
    if (path.points[p].validation > path.points[path.chosen].validation) {
      path.chosen = p;
    }
  }
  return path;
}

}  // namespace sortition
