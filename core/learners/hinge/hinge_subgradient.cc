#include "core/learners/hinge/hinge_subgradient.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

using config::v1::HingeOptions;

constexpr Eigen::Index kPlanes = 100;
// How exactly planes are mixed for the bound, as a share of the allowed gap,
// and in how many steps.
constexpr double kBoundShare = 0.01;
constexpr int kBoundSteps = 5000;
// Passes of steps between evaluations of J.
constexpr int kPassesBetween = 4;
// The first step would lower the risk at the start by this share if one query
// had all of the risk.
constexpr double kFirstStep = 0.1;
constexpr double kLeastRisk = 1e-9;

}  // namespace

struct HingeSubgradient::Walk {
  Eigen::VectorXd point;
  Eigen::VectorXd mean;
  double steps = 0;    // t + t_0
  double weights = 0;  // Sum of the weights in the mean.
};

HingeSubgradient::HingeSubgradient(HingeProblem* problem,
                                   const HingeOptions& options)
    : problem_(*problem),
      options_(options),
      planes_(problem->dimension(), kPlanes),
      random_(StableHash(HashDomain::kTraining,
                         {"hinge_subgradient", absl::StrCat(options.seed())})),
      order_(problem->num_queries()),
      start_(Eigen::VectorXd::Zero(problem->dimension())) {
  std::iota(order_.begin(), order_.end(), size_t{0});
}

// t_0 = 2 G² / (λ kFirstStep R), where R is the risk and G² the mean squared
// slope at the start. This makes η_0 G² = kFirstStep R.
HingeSubgradient::Walk HingeSubgradient::Start(double lambda) {
  double squares = 0;
  double risk = 0;
  for (size_t q = 0; q < order_.size(); ++q) {
    problem_.Evaluate(q, start_, &plane_);
    squares += plane_.slope.squaredNorm();
    risk += plane_.value;
  }
  return {.point = start_,
          .mean = start_,
          .steps = 1 + 2 * squares /
                           (lambda * kFirstStep * std::max(risk, kLeastRisk))};
}

void HingeSubgradient::Pass(double lambda, Walk* walk) {
  const double share = 1 / static_cast<double>(order_.size());
  double offset = 0;
  Eigen::VectorXd slope = Eigen::VectorXd::Zero(problem_.dimension());
  std::shuffle(order_.begin(), order_.end(), random_);
  for (const size_t q : order_) {
    problem_.Evaluate(q, walk->point, &plane_);
    offset += share * plane_.offset;
    slope += share * plane_.slope;
    walk->steps += 1;
    const double rate = 2 / walk->steps;  // η λ, at most 1.
    walk->point = (1 - rate) * walk->point - rate / lambda * plane_.slope;
    walk->weights += walk->steps;
    walk->mean += walk->steps / walk->weights * (walk->point - walk->mean);
  }
  planes_.Add(offset, slope);
}

void HingeSubgradient::Judge(double lambda, const Eigen::VectorXd& point,
                             HingeResult* result) {
  problem_.EvaluateAll(point, &plane_);
  planes_.Add(plane_.offset, plane_.slope);
  const double objective = lambda / 2 * point.squaredNorm() + plane_.value;
  if (objective < result->objective) {
    result->objective = objective;
    result->weights = point;
  }
  result->dual_bound = std::max(
      result->dual_bound,
      planes_
          .Maximise(lambda, kBoundShare * options_.gap_tolerance(), kBoundSteps)
          .value);
}

absl::StatusOr<HingeResult> HingeSubgradient::Minimise(
    double lambda, const std::function<void()>& on_pass) {
  RETURN_IF_ERROR(CheckLambda(lambda));
  HingeResult result;
  const auto count = [&] {
    ++result.passes;
    if (on_pass) on_pass();
  };
  Walk walk = Start(lambda);
  count();
  do {
    for (int pass = 0;
         pass < kPassesBetween && result.passes + 1 < options_.max_passes();
         ++pass) {
      Pass(lambda, &walk);
      count();
    }
    if (!walk.mean.allFinite()) {
      return absl::InternalError("the weights are not finite");
    }
    Judge(lambda, walk.mean, &result);
    count();
  } while (result.gap() > options_.gap_tolerance() &&
           result.passes < options_.max_passes());
  result.termination =
      result.gap() <= options_.gap_tolerance() ? "gap closed" : "max passes";
  start_ = result.weights;
  return result;
}

}  // namespace sortition
