#include "core/learners/orders/order_learners.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "core/learners/labelled/lambda_path.h"
#include "core/learners/labelled/tuned_learner.h"
#include "core/learners/orders/list_net.h"
#include "core/learners/orders/pulled_list_net.h"
#include "core/learners/orders/pulled_regression.h"
#include "core/learners/orders/rank_svm.h"
#include "core/learners/orders/relevance_regression.h"

namespace sortition {
namespace {

using config::v1::ListNetOptions;
using config::v1::RankSvmOptions;
using config::v1::RegressionOptions;

constexpr char kRankSvmLambda[] = "rank_svm.lambda";
constexpr char kListNetLambda[] = "list_net.lambda";

// Returns a spec of a learner of rankings, complete except for the points.
template <typename Options>
absl::StatusOr<TunedLearnerSpec> SpecOf(const Options& options,
                                        const LabelledShape& shape) {
  TunedLearnerSpec spec;
  spec.options = std::make_shared<Options>(options);
  ASSIGN_OR_RETURN(spec.measure, OrderMeasure(shape));
  spec.actions = {ActionKind::kRank, ActionKind::kSelect};
  return spec;
}

// Sets the points of `spec`: those of options.lambda, or of the default path.
template <typename Options>
void SetPoints(const Options& options, const char* name,
               absl::StatusOr<PointFit> (*fit)(const Options&,
                                               const LabelledTask&, double,
                                               const std::function<void()>&),
               TunedLearnerSpec* spec) {
  spec->num_points = LambdaPathSize(options.lambda());
  spec->points = [=](const LabelledTask& task)
      -> absl::StatusOr<std::vector<TuningPoint>> {
    ASSIGN_OR_RETURN(const std::vector<double> lambdas,
                     LambdaPath(options.lambda(), task.training.size(), name));
    return PointsAt(lambdas, std::bind_front(fit, options));
  };
}

absl::StatusOr<PointFit> FitRankSvm(const RankSvmOptions& options,
                                    const LabelledTask& task, double lambda,
                                    const std::function<void()>& on_step) {
  ASSIGN_OR_RETURN(RankSvmResult result, TrainRankSvm(
                                             task.training, lambda, options,
                                             [&on_step](const DescentResult&) {
                                               on_step();
                                               return false;
                                             },
                                             PullOf(task)));
  return PointFit{.weights = std::move(result.weights),
                  .objective = result.descent.objective,
                  .dual_bound = result.descent.dual_bound,
                  .gap_tolerance = options.gap_tolerance() *
                                   std::abs(result.descent.objective),
                  .passes = result.descent.evaluations,
                  .termination = result.descent.termination};
}

absl::StatusOr<PointFit> FitListNet(const ListNetOptions& options,
                                    const LabelledTask& task, double lambda,
                                    const std::function<void()>& on_step) {
  ASSIGN_OR_RETURN(ListNetResult result,
                   TrainListNet(task.training, lambda, options,
                                [&on_step](uint32_t) { on_step(); }));
  return PointFit{.weights = std::move(result.weights),
                  .objective = result.descent.value,
                  .passes = result.descent.evaluations,
                  .termination = std::string(
                      LbfgsTerminationName(result.descent.termination))};
}

// Returns points that share a solver, whose planes do not depend on λ.
absl::StatusOr<std::vector<TuningPoint>> PulledListNetPoints(
    const ListNetOptions& options, const LabelledTask& task) {
  if (options.lbfgs().max_iterations() == 0) {
    return absl::InvalidArgumentError(
        "list_net.lbfgs.max_iterations is 0, must be at least 1");
  }
  ASSIGN_OR_RETURN(
      const std::vector<double> lambdas,
      LambdaPath(options.lambda(), task.training.size(), kListNetLambda));
  ASSIGN_OR_RETURN(auto made, MakePulledListNet(task.training, options.target(),
                                                PullOf(task)));
  const std::shared_ptr<HingeProblem> problem = std::move(made);
  const std::shared_ptr<HingeSolver> solver =
      MakePulledListNetSolver(problem.get(), options.lbfgs());
  return PointsAt(
      lambdas,
      [problem, solver](
          const LabelledTask&, double lambda,
          const std::function<void()>& on_step) -> absl::StatusOr<PointFit> {
        ASSIGN_OR_RETURN(const HingeResult found,
                         solver->Minimise(lambda, on_step));
        return PointFit{.weights = {found.weights.begin(), found.weights.end()},
                        .objective = found.objective,
                        .dual_bound = found.dual_bound,
                        .gap_tolerance = kPulledListNetGap,
                        .passes = found.passes,
                        .termination = found.termination};
      });
}

absl::StatusOr<PointFit> FitPulledRegression(
    const LabelledTask& task, double l2, const std::function<void()>& on_step) {
  ASSIGN_OR_RETURN(PulledRegressionResult result,
                   FitPulledRelevance(task.training, l2, PullOf(task)));
  on_step();
  PointFit fit{
      .weights = std::move(result.weights),
      .objective = result.objective,
      .passes = result.iterations,
      .termination = absl::StrFormat(
          "%d iterations, residuals %.1e and %.1e; %s", result.iterations,
          result.primal_residual, result.dual_residual,
          result.closed() ? "gap closed" : "max iterations")};
  if (result.is_proved) {
    fit.dual_bound = result.dual_bound;
    fit.gap_tolerance = result.gap_tolerance();
  }
  return fit;
}

absl::StatusOr<PointFit> FitRegression(const LabelledTask& task, double l2,
                                       const std::function<void()>& on_step) {
  if (PullOf(task).orders != nullptr) {
    return FitPulledRegression(task, l2, on_step);
  }
  ASSIGN_OR_RETURN(RegressionResult result, FitRelevance(task.training, l2));
  on_step();
  PointFit fit{.weights = std::move(result.weights),
               .passes = 1,
               .termination = "solved"};
  for (const double weight : fit.weights) fit.objective += l2 * weight * weight;
  for (const LabelledItems& query : task.training) {
    for (uint32_t i = 0; i < query.relevances.size(); ++i) {
      const double error = query.items.Score(i, fit.weights) +
                           result.intercept - query.relevances[i];
      fit.objective += error * error;
    }
  }
  return fit;
}

// Returns options.l2 in falling order; none: 2^6, 2^5, ... 2^-6.
absl::StatusOr<std::vector<double>> L2Path(const RegressionOptions& options) {
  std::vector<double> path(options.l2().begin(), options.l2().end());
  if (path.empty()) return LambdaPath({}, 1, "l2");
  for (const double l2 : path) {
    if (!(l2 >= 0 && l2 < HUGE_VAL)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "regression.l2 is ", l2, ", must be finite and at least 0"));
    }
  }
  std::sort(path.begin(), path.end(), std::greater<>());
  return path;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeRankSvmLearner(
    const RankSvmOptions& options, const LabelledShape& shape) {
  ASSIGN_OR_RETURN(TunedLearnerSpec spec, SpecOf(options, shape));
  RETURN_IF_ERROR(LambdaPath(options.lambda(), 1, kRankSvmLambda).status());
  if (!(options.gap_tolerance() > 0 && options.gap_tolerance() <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank_svm.gap_tolerance is ", options.gap_tolerance(),
                     ", must be above 0 and at most 1"));
  }
  spec.most_steps = options.lbfgs().max_iterations() + options.max_cuts();
  spec.trusts_orders = true;
  SetPoints(options, kRankSvmLambda, &FitRankSvm, &spec);
  return std::make_unique<TunedLearner>(std::move(spec));
}

absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeListNetLearner(
    const ListNetOptions& options, const LabelledShape& shape) {
  ASSIGN_OR_RETURN(TunedLearnerSpec spec, SpecOf(options, shape));
  RETURN_IF_ERROR(LambdaPath(options.lambda(), 1, kListNetLambda).status());
  spec.most_steps = options.lbfgs().max_iterations();
  spec.trusts_orders = true;
  SetPoints(options, kListNetLambda, &FitListNet, &spec);
  spec.points = [options,
                 plain = std::move(spec.points)](const LabelledTask& task) {
    return PullOf(task).orders == nullptr ? plain(task)
                                          : PulledListNetPoints(options, task);
  };
  return std::make_unique<TunedLearner>(std::move(spec));
}

absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeRegressionLearner(
    const RegressionOptions& options, const LabelledShape& shape) {
  ASSIGN_OR_RETURN(TunedLearnerSpec spec, SpecOf(options, shape));
  ASSIGN_OR_RETURN(const std::vector<double> path, L2Path(options));
  spec.num_points = path.size();
  spec.trusts_orders = true;
  spec.points = [path](const LabelledTask&) {
    return PointsAt(path, &FitRegression);
  };
  return std::make_unique<TunedLearner>(std::move(spec));
}

}  // namespace sortition
