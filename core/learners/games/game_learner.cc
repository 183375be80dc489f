#include "core/learners/games/game_learner.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/learners/labelled/lambda_path.h"

namespace sortition {
namespace {

using config::v1::GameOptions;

// Solves games of F_BETA only as far as J's gap justifies. A few of the largest
// would take most of the time, and count no more than others. The mean gap that
// games leave open should be a given share of J's gap. It is controlled by the
// number of rounds of each game's double oracle, which continues at the next
// evaluation.
class EffortControl {
 public:
  explicit EffortControl(GameObjective* objective)
      : objective_(*objective),
        most_{.tolerance = objective->task().options.game_tolerance(),
              .max_rounds = objective->task().options.game_rounds()} {
    Set(kLoosest);
  }

  void Follow(double gap) {
    const double wanted = share_ * gap;
    const double left = objective_.game_gap();
    if (left > wanted) rounds_ *= 2;
    if (left < wanted / 4) rounds_ /= 1.5;
    rounds_ = std::clamp(rounds_, kFewestRounds, kMostRounds);
    Set(wanted);
  }
  void Release() { objective_.SetEffort(most_); }
  // Allows a larger share, for steps that do not compare values: cutting planes
  // hold however large the open gap is.
  void AllowMore() { share_ = kCutShare; }

 private:
  // A line search fails if errors of the values exceed what it gains.
  static constexpr double kDescentShare = 0.02;
  static constexpr double kCutShare = 0.4;
  static constexpr double kLoosest = 0.03;
  static constexpr double kFewestRounds = 3;
  static constexpr double kMostRounds = 1e6;

  void Set(double tolerance) {
    objective_.SetEffort(
        {.tolerance = std::clamp(tolerance, most_.tolerance,
                                 std::max(kLoosest, most_.tolerance)),
         .max_rounds =
             std::min(static_cast<uint32_t>(rounds_), most_.max_rounds)});
  }

  GameObjective& objective_;
  const FBetaEffort most_;
  double rounds_ = kFewestRounds;
  double share_ = kDescentShare;
};

// Iterations of L-BFGS for F_BETA. After them the queries' own planes take
// over: they need far fewer evaluations, and less exact ones.
constexpr uint32_t kFirstIterations = 8;

DescentOptions DescentOptionsOf(const GameObjective& objective) {
  const GameOptions& options = objective.task().options;
  DescentOptions descent{.lbfgs = options.lbfgs(),
                         .gap_tolerance = options.gap_tolerance(),
                         .max_cuts = options.max_cuts()};
  if (options.measure() == GameOptions::F_BETA && options.max_cuts() > 0 &&
      objective.has_query_planes()) {
    descent.lbfgs.set_max_iterations(
        std::min(kFirstIterations, options.lbfgs().max_iterations()));
  }
  return descent;
}

constexpr int kLeastPower = -12;
constexpr int kMostPower = 6;

// Returns the λ of the path for `n` queries that have a game.
absl::StatusOr<std::vector<double>> LambdasOf(const GameOptions& options,
                                              size_t n) {
  auto lambdas = options.lambda();
  if (lambdas.empty()) {
    for (int power = kLeastPower; power <= kMostPower; ++power) {
      lambdas.Add(std::exp2(-power) / static_cast<double>(n));
    }
  }
  return LambdaPath(lambdas, n, "lambda");
}

}  // namespace

size_t GamePathSize(const GameOptions& options) {
  return options.lambda().empty()
             ? static_cast<size_t>(kMostPower - kLeastPower + 1)
             : static_cast<size_t>(options.lambda_size());
}

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
  EffortControl effort(objective);
  CertifiedDescent descent(
      objective,
      start.size() > 0 ? start : Eigen::VectorXd::Zero(objective->dimension()),
      DescentOptionsOf(*objective), [&](const DescentResult& so_far) {
        effort.Follow(so_far.gap());
        return watcher && watcher(so_far);
      });
  RETURN_IF_ERROR(descent.Lbfgs("L-BFGS"));
  if (CanSmooth(task)) {
    objective->SetSmoothing(options.smoothing());
    const absl::Status status = descent.Lbfgs("smoothed L-BFGS");
    objective->SetSmoothing(0);
    RETURN_IF_ERROR(status);
  }
  effort.AllowMore();
  RETURN_IF_ERROR(descent.CuttingPlaneSteps());
  effort.Release();
  return std::move(descent).Finish();
}

absl::StatusOr<GamePath> TrainGamePath(
    std::span<const LabelledItems> training,
    std::span<const LabelledItems> validation, const GameOptions& options,
    const ParallelFor& parallel_for, const GameWatcher& watcher) {
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
                   LambdasOf(options, objective->task().played.size()));
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
