#include "core/optim/one_slack.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// A step is taken if J falls by at least kSerious of the decrease that the
// model promised. If it falls by more than kGood of it, ρ may fall.
constexpr double kSerious = 0.1;
constexpr double kGood = 0.5;
// ρ changes by at most the factor kMaxChange in a step. It does not fall below
// kLeastProximity of λ, where it has no effect any more.
constexpr double kMaxChange = 10;
constexpr double kLeastProximity = 1e-3;
// The precision of minimising a model, as a share of the allowed gap, and the
// largest number of steps for it.
constexpr double kModelShare = 1e-2;
constexpr int kMaxModelSteps = 5000;
// The tolerance of the oracle, as a share of the decrease that a step promises,
// and in the first call.
constexpr double kOracleShare = 0.2;
constexpr double kFirstTolerance = 1e-2;
// The lower bound is updated if a step promises at most kNearEnd times the
// allowed gap, and after every kBoundEvery evaluations.
constexpr double kNearEnd = 3;
constexpr uint32_t kBoundEvery = 10;
// The search ends after this many consecutive steps that promise less than
// kModelShare of the allowed gap.
constexpr int kMaxStalls = 20;

}  // namespace

// Controls ρ as in [Kiwiel90]: if J along the step is the parabola through its
// known values, ρ' = 2 ρ (1 - fall / promised) makes the next step end at the
// minimum of the parabola.
class OneSlackSolver::Proximity {
 public:
  Proximity(double lambda, double first)
      : least_(kLeastProximity * lambda), rho_(std::max(first, least_)) {}
  double rho() const { return rho_; }

  // Updates ρ after a step that promised the decrease `promised` and achieved
  // `fall`. `noise` is the imprecision of oracle and model; `error` is how far
  // the new plane is below J at the centre.
  void Update(double promised, double noise, double fall, double error) {
    if (promised <= 2 * noise) {  // The step is too short to tell.
      rho_ = std::max(rho_ / kMaxChange, least_);
      return;
    }
    const double parabola = 2 * rho_ * (1 - fall / promised);
    if (fall > kGood * promised) {
      rho_ = std::max({parabola, rho_ / kMaxChange, least_});
    } else if (fall <= kSerious * promised && error > promised) {
      rho_ = std::min(parabola, kMaxChange * rho_);
    }
  }

 private:
  double least_;
  double rho_;
};

absl::string_view OneSlackTerminationName(OneSlackTermination termination) {
  switch (termination) {
    case OneSlackTermination::kGap:
      return "gap closed";
    case OneSlackTermination::kMaxIterations:
      return "max iterations";
    case OneSlackTermination::kStalled:
      return "stalled";
  }
  return "";
}

OneSlackSolver::OneSlackSolver(RiskOracle oracle, Eigen::Index dimension,
                               const config::v1::OneSlackOptions& options)
    : oracle_(std::move(oracle)),
      options_(options),
      planes_(dimension, options.max_planes()) {
  plane_.slope.setZero(dimension);
}

absl::Status OneSlackSolver::CheckStart(double lambda,
                                        const Eigen::VectorXd& start) const {
  if (!(lambda > 0 && lambda < HUGE_VAL)) {
    return absl::InvalidArgumentError(
        absl::StrCat("lambda is ", lambda, ", must be above 0 and finite"));
  }
  if (start.size() > 0 &&
      (start.size() != plane_.slope.size() || !start.allFinite())) {
    return absl::InvalidArgumentError(
        absl::StrCat("start has ", start.size(), " parameters, must be ",
                     plane_.slope.size(), " finite ones"));
  }
  return absl::OkStatus();
}

absl::Status OneSlackSolver::Evaluate(const Eigen::VectorXd& w,
                                      double tolerance) {
  RETURN_IF_ERROR(oracle_(w, tolerance, &plane_));
  if (!std::isfinite(plane_.value) || !std::isfinite(plane_.offset) ||
      !plane_.slope.allFinite()) {
    return absl::InternalError("the risk or its slope is not finite");
  }
  planes_.Add(plane_.offset, plane_.slope);
  return absl::OkStatus();
}

void OneSlackSolver::RaiseBound(double lambda, OneSlackResult* result) {
  result->dual_bound =
      std::max(result->dual_bound,
               planes_
                   .Maximise(lambda, kModelShare * options_.gap_tolerance(),
                             kMaxModelSteps)
                   .value);
}

// Up to a constant, λ/2 ‖w‖² + ρ/2 ‖w - c‖² is (λ+ρ)/2 ‖w - ρ/(λ+ρ) c‖².
absl::StatusOr<double> OneSlackSolver::Step(double lambda, Proximity* proximity,
                                            OneSlackResult* result) {
  const double weight = lambda + proximity->rho();
  const Eigen::VectorXd next =
      planes_
          .MaximiseAround(proximity->rho() / weight * result->weights, weight,
                          kModelShare * options_.gap_tolerance(),
                          kMaxModelSteps)
          .point;
  const double penalty = lambda / 2 * next.squaredNorm();
  const double promised = result->objective - penalty - planes_.ModelAt(next);
  RETURN_IF_ERROR(Evaluate(
      next, kOracleShare * std::max(promised, options_.gap_tolerance())));
  ++result->evaluations;
  const double fall = result->objective - penalty - plane_.value;
  const double noise =
      std::max(plane_.value - plane_.offset - plane_.slope.dot(next),
               kModelShare * options_.gap_tolerance());
  proximity->Update(promised, noise, fall,
                    result->objective -
                        lambda / 2 * result->weights.squaredNorm() -
                        plane_.offset - plane_.slope.dot(result->weights));
  if (fall > 0 && fall > kSerious * promised) {
    result->weights = next;
    result->objective = penalty + plane_.value;
  }
  return promised;
}

absl::StatusOr<OneSlackResult> OneSlackSolver::Minimise(
    double lambda, const Eigen::VectorXd& start) {
  RETURN_IF_ERROR(CheckStart(lambda, start));
  const double allowed = options_.gap_tolerance();
  OneSlackResult result;
  result.weights =
      start.size() > 0 ? start : Eigen::VectorXd::Zero(plane_.slope.size());
  result.dual_bound = -std::numeric_limits<double>::infinity();
  RETURN_IF_ERROR(Evaluate(result.weights, kFirstTolerance));
  result.evaluations = 1;
  result.objective = lambda / 2 * result.weights.squaredNorm() + plane_.value;
  RaiseBound(lambda, &result);
  // With this ρ, a step along the gradient promises a decrease of about the
  // risk itself.
  Proximity proximity(lambda,
                      (plane_.slope + lambda * result.weights).squaredNorm() /
                          std::max(std::abs(plane_.value), allowed));
  int stalls = 0;
  while (result.gap() > allowed) {
    if (result.evaluations >= options_.max_iterations()) {
      RaiseBound(lambda, &result);
      break;
    }
    ASSIGN_OR_RETURN(const double promised, Step(lambda, &proximity, &result));
    if (promised <= kNearEnd * allowed ||
        result.evaluations % kBoundEvery == 0) {
      RaiseBound(lambda, &result);
    }
    stalls = promised > kModelShare * allowed ? 0 : stalls + 1;
    if (stalls == kMaxStalls) {
      result.termination = OneSlackTermination::kStalled;
      break;
    }
  }
  if (result.gap() <= allowed) result.termination = OneSlackTermination::kGap;
  return result;
}

}  // namespace sortition
