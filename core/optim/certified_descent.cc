#include "core/optim/certified_descent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/optim/lbfgs.h"

namespace sortition {

CertifiedDescent::CertifiedDescent(const BundledObjective* objective,
                                   const Eigen::VectorXd& start,
                                   const DescentOptions& options,
                                   DescentWatcher watcher)
    : objective_(*objective),
      options_(options),
      watcher_(std::move(watcher)),
      first_evaluation_(objective->evaluations()) {
  result_.theta = start;
  result_.objective = std::numeric_limits<double>::infinity();
  result_.dual_bound = -result_.objective;
}

double CertifiedDescent::Tolerance() const {
  return options_.gap_tolerance *
         (options_.relative && std::isfinite(result_.objective)
              ? std::abs(result_.objective)
              : 1);
}

void CertifiedDescent::Note(absl::string_view what) {
  absl::StrAppend(&result_.termination, result_.termination.empty() ? "" : "; ",
                  what);
}

absl::Status CertifiedDescent::Certify(const Effort& effort) {
  RETURN_IF_ERROR(objective_.status());
  CuttingPlanes::Bound bound =
      objective_.LowerBound(effort.share * Tolerance(), effort.max_steps);
  // Earlier bounds are still valid.
  result_.dual_bound = std::max(result_.dual_bound, bound.value);
  model_minimum_ = std::move(bound.point);
  if (objective_.best_value() < result_.objective) {
    result_.objective = objective_.best_value();
    result_.theta = objective_.best_point();
  }
  result_.evaluations = objective_.evaluations() - first_evaluation_;
  return absl::OkStatus();
}

absl::Status CertifiedDescent::Step(const Effort& effort) {
  RETURN_IF_ERROR(Certify(effort));
  result_.stopped |= watcher_ && watcher_(result_);
  return absl::OkStatus();
}

absl::Status CertifiedDescent::Lbfgs(absl::string_view name) {
  if (over()) return absl::OkStatus();
  absl::Status status;
  const auto stop = [&] {
    status.Update(Step(kLoose));
    return !status.ok() || over();
  };
  const auto minimum =
      MinimizeByLbfgs(objective_, result_.theta, options_.lbfgs, nullptr, stop);
  RETURN_IF_ERROR(objective_.status());
  RETURN_IF_ERROR(minimum.status());
  RETURN_IF_ERROR(status);
  Note(absl::StrCat(name, ": ", minimum->iterations, " iterations, ",
                    LbfgsTerminationName(minimum->termination)));
  return over() ? absl::OkStatus() : Certify(kTight);
}

// Evaluates the point half-way between the best point and the model's minimum
// [BenAmeurNeto07], because far from all evaluated points the model is too
// inaccurate.
absl::Status CertifiedDescent::CuttingPlaneSteps() {
  if (over()) return absl::OkStatus();
  RETURN_IF_ERROR(Certify(kTight));
  uint32_t steps = 0;
  for (; steps < options_.max_cuts && !over(); ++steps) {
    objective_.Evaluate((model_minimum_ + result_.theta) / 2, nullptr);
    RETURN_IF_ERROR(Step(kTight));
  }
  Note(absl::StrCat(steps, " cutting planes"));
  return absl::OkStatus();
}

DescentResult CertifiedDescent::Finish() && {
  if (closed()) Note("gap closed");
  if (result_.stopped) Note("stopped");
  return std::move(result_);
}

}  // namespace sortition
