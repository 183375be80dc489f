#include "core/optim/lbfgs.h"

#include <lbfgs.h>

#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

using ConstMap = Eigen::Map<const Eigen::VectorXd>;
using Map = Eigen::Map<Eigen::VectorXd>;

// The state that the callbacks of one run share.
struct Run {
  const Objective& objective;
  const std::function<void(uint32_t)>& on_iteration;
  const std::function<bool()>& stop;
  const double decrease_tolerance;
  Eigen::VectorXd point;
  Eigen::VectorXd gradient;
  // The best iterate, because a line search that fails returns its last trial.
  Eigen::VectorXd best;
  double best_value;
  uint32_t iterations = 0;
  uint32_t evaluations = 0;
  bool is_finite = true;
  bool is_small_decrease = false;
  bool is_stopped = false;
};

lbfgsfloatval_t Evaluate(void* instance, const lbfgsfloatval_t* x,
                         lbfgsfloatval_t* gradient, int n, lbfgsfloatval_t) {
  Run& run = *static_cast<Run*>(instance);
  run.point = ConstMap(x, n);
  const double value = run.objective.Evaluate(run.point, &run.gradient);
  Map(gradient, n) = run.gradient;
  ++run.evaluations;
  run.is_finite &= std::isfinite(value) && run.gradient.allFinite();
  return value;
}

int Progress(void* instance, const lbfgsfloatval_t* x, const lbfgsfloatval_t*,
             lbfgsfloatval_t value, lbfgsfloatval_t, lbfgsfloatval_t,
             lbfgsfloatval_t, int n, int iteration, int) {
  Run& run = *static_cast<Run*>(instance);
  run.iterations = static_cast<uint32_t>(iteration);
  // The library's own test divides by f and stops at once if f < 0.
  run.is_small_decrease = run.best_value - value <
                          run.decrease_tolerance * std::abs(run.best_value);
  run.best = ConstMap(x, n);
  run.best_value = value;
  if (run.on_iteration) run.on_iteration(run.iterations);
  run.is_stopped = run.stop && run.stop();
  // A return value other than 0 cancels the run.
  return run.is_finite && !run.is_small_decrease && !run.is_stopped ? 0 : 1;
}

LbfgsTermination TerminationOf(const Run& run, int code) {
  if (run.is_stopped) return LbfgsTermination::kStopped;
  if (run.is_small_decrease) return LbfgsTermination::kDecrease;
  switch (code) {
    case LBFGS_SUCCESS:
    case LBFGS_ALREADY_MINIMIZED:
      return LbfgsTermination::kGradient;
    case LBFGSERR_MAXIMUMITERATION:
      return LbfgsTermination::kMaxIterations;
    default:
      return LbfgsTermination::kLineSearch;
  }
}

}  // namespace

absl::string_view LbfgsTerminationName(LbfgsTermination termination) {
  switch (termination) {
    case LbfgsTermination::kGradient:
      return "gradient";
    case LbfgsTermination::kDecrease:
      return "decrease";
    case LbfgsTermination::kMaxIterations:
      return "max iterations";
    case LbfgsTermination::kLineSearch:
      return "line search";
    case LbfgsTermination::kStopped:
      return "stopped";
  }
  return "";
}

absl::StatusOr<LbfgsResult> MinimizeByLbfgs(
    const Objective& objective, const Eigen::VectorXd& start,
    const config::v1::LbfgsOptions& options,
    const std::function<void(uint32_t)>& on_iteration,
    const std::function<bool()>& stop) {
  if (start.size() != objective.dimension() || !start.allFinite()) {
    return absl::InvalidArgumentError(
        absl::StrCat("start has ", start.size(), " entries, must have ",
                     objective.dimension(), ", all finite"));
  }
  Run run{.objective = objective,
          .on_iteration = on_iteration,
          .stop = stop,
          .decrease_tolerance = options.decrease_tolerance(),
          .point = start,
          .gradient = Eigen::VectorXd(start.size()),
          .best = start,
          .best_value = objective.Evaluate(start, nullptr)};
  if (!std::isfinite(run.best_value)) {
    return absl::InternalError("the objective is not finite at the start");
  }
  if (stop && stop()) {
    return LbfgsResult{.point = start,
                       .value = run.best_value,
                       .termination = LbfgsTermination::kStopped};
  }
  lbfgs_parameter_t parameters;
  lbfgs_parameter_init(&parameters);
  parameters.m = static_cast<int>(options.history());
  parameters.epsilon = options.gradient_tolerance();
  parameters.max_iterations = static_cast<int>(options.max_iterations());
  // The vector instructions of the library need aligned memory and a size that
  // is a multiple of 8.
  const auto n = static_cast<int>(start.size());
  const std::unique_ptr<lbfgsfloatval_t, decltype(&lbfgs_free)> x(
      lbfgs_malloc((n + 7) / 8 * 8), &lbfgs_free);
  Map(x.get(), n) = start;
  const int code =
      lbfgs(n, x.get(), nullptr, &Evaluate, &Progress, &run, &parameters);
  if (!run.is_finite) {
    return absl::InternalError(
        absl::StrCat("the objective is not finite after ", run.iterations,
                     " iterations of L-BFGS"));
  }
  return LbfgsResult{.point = std::move(run.best),
                     .value = run.best_value,
                     .iterations = run.iterations,
                     .evaluations = run.evaluations,
                     .termination = TerminationOf(run, code)};
}

}  // namespace sortition
