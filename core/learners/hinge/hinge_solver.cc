#include "core/learners/hinge/hinge_solver.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/learners/hinge/hinge_ascent.h"
#include "core/learners/hinge/hinge_subgradient.h"

namespace sortition {
namespace {

using config::v1::HingeOptions;

config::v1::OneSlackOptions OneSlackOf(const HingeOptions& options) {
  config::v1::OneSlackOptions one_slack;
  one_slack.set_gap_tolerance(options.gap_tolerance());
  one_slack.set_max_iterations(options.max_passes());
  return one_slack;
}

class HingeOneSlack : public HingeSolver {
 public:
  HingeOneSlack(HingeProblem* problem, const HingeOptions& options)
      : solver_(
            [this, problem](const Eigen::VectorXd& w, double,
                            RiskPlane* plane) {
              problem->EvaluateAll(w, plane);
              if (*on_pass_) (*on_pass_)();
              return absl::OkStatus();
            },
            problem->dimension(), OneSlackOf(options)) {}

  absl::StatusOr<HingeResult> Minimise(
      double lambda, const std::function<void()>& on_pass) override {
    on_pass_ = &on_pass;
    ASSIGN_OR_RETURN(const OneSlackResult found,
                     solver_.Minimise(lambda, start_));
    start_ = found.weights;
    return HingeResult{
        .weights = found.weights,
        .objective = found.objective,
        .dual_bound = found.dual_bound,
        .passes = found.evaluations,
        .termination = std::string(OneSlackTerminationName(found.termination))};
  }

 private:
  const std::function<void()>* on_pass_ = nullptr;
  OneSlackSolver solver_;
  Eigen::VectorXd start_;
};

}  // namespace

absl::Status CheckLambda(double lambda) {
  if (lambda > 0 && lambda < HUGE_VAL) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("lambda is ", lambda, ", must be above 0 and finite"));
}

std::unique_ptr<HingeSolver> MakeHingeSolver(HingeProblem* problem,
                                             const HingeOptions& options) {
  switch (options.solver()) {
    case HingeOptions::N_SLACK:
      return std::make_unique<HingeAscent>(problem, options);
    case HingeOptions::SUBGRADIENT:
      return std::make_unique<HingeSubgradient>(problem, options);
    case HingeOptions::ONE_SLACK:
      break;
  }
  return std::make_unique<HingeOneSlack>(problem, options);
}

}  // namespace sortition
