#include "core/learners/game_learner.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/optim/lbfgs.h"

namespace sortition {
namespace {

using config::v1::GameOptions;

// One run of TrainGame().
class Run {
 public:
  Run(GameObjective* objective, const Eigen::VectorXd& start)
      : objective_(*objective), options_(objective->task().options) {
    result_.theta = start;
    first_evaluation_ = objective->evaluations();
  }

  absl::Status Lbfgs(double mu) {
    objective_.SetSmoothing(mu);
    const auto minimum =
        MinimizeByLbfgs(objective_, result_.theta, options_.lbfgs(), nullptr);
    objective_.SetSmoothing(0);
    RETURN_IF_ERROR(objective_.status());
    RETURN_IF_ERROR(minimum.status());
    if (mu > 0) objective_.Evaluate(minimum->point, nullptr);
    Note(absl::StrCat(mu > 0 ? "smoothed L-BFGS: " : "L-BFGS: ",
                      LbfgsTerminationName(minimum->termination)));
    return Certify();
  }

  absl::Status CuttingPlaneSteps() {
    uint32_t steps = 0;
    for (; steps < options_.max_cuts() && !Done(); ++steps) {
      objective_.Evaluate(model_minimum_, nullptr);
      RETURN_IF_ERROR(Certify());
    }
    Note(absl::StrCat(steps, " cutting planes"));
    return absl::OkStatus();
  }

  bool Done() const { return result_.gap() <= options_.gap_tolerance(); }

  GameResult Finish() && {
    if (Done()) Note("gap closed");
    result_.evaluations = objective_.evaluations() - first_evaluation_;
    return std::move(result_);
  }

 private:
  void Note(absl::string_view what) {
    absl::StrAppend(&result_.termination,
                    result_.termination.empty() ? "" : "; ", what);
  }

  absl::Status Certify() {
    RETURN_IF_ERROR(objective_.status());
    CuttingPlanes::Bound bound = objective_.LowerBound();
    result_.dual_bound = bound.value;
    model_minimum_ = std::move(bound.point);
    result_.theta = objective_.best_point();
    result_.objective = objective_.best_value();
    return absl::OkStatus();
  }

  GameObjective& objective_;
  const GameOptions& options_;
  GameResult result_;
  Eigen::VectorXd model_minimum_;
  uint32_t first_evaluation_;
};

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
                                     const Eigen::VectorXd& start) {
  if (!(lambda > 0 && lambda < HUGE_VAL)) {
    return absl::InvalidArgumentError(
        absl::StrCat("lambda is ", lambda, ", must be above 0 and finite"));
  }
  objective->SetLambda(lambda);
  const GameTask& task = objective->task();
  Run run(objective, start.size() > 0
                         ? start
                         : Eigen::VectorXd::Zero(objective->dimension()));
  RETURN_IF_ERROR(run.Lbfgs(/*mu=*/0));
  if (!run.Done() && CanSmooth(task)) {
    RETURN_IF_ERROR(run.Lbfgs(task.options.smoothing()));
  }
  if (!run.Done()) RETURN_IF_ERROR(run.CuttingPlaneSteps());
  return std::move(run).Finish();
}

absl::StatusOr<GamePath> TrainGamePath(std::span<const GameQuery> training,
                                       std::span<const GameQuery> validation,
                                       const GameOptions& options,
                                       const ParallelFor& parallel_for,
                                       const GamePointCallback& on_point) {
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
                   Lambdas(options, training.size()));
  GamePath path;
  Eigen::VectorXd start;
  for (const double lambda : lambdas) {
    GamePathPoint point;
    point.lambda = lambda;
    ASSIGN_OR_RETURN(point.result, TrainGame(objective.get(), lambda, start));
    ASSIGN_OR_RETURN(point.validation,
                     judge->ExpectedScore(point.result.theta));
    start = point.result.theta;
    if (on_point) on_point(point);
    path.points.push_back(std::move(point));
  }
  for (size_t p = 1; p < path.points.size(); ++p) {
    if (path.points[p].validation > path.points[path.chosen].validation) {
      path.chosen = p;
    }
  }
  return path;
}

}  // namespace sortition
