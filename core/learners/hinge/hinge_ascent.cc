#include "core/learners/hinge/hinge_ascent.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/status/status.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

using config::v1::HingeOptions;

constexpr Eigen::Index kMostPlanes = 20;
constexpr Eigen::Index kFewestPlanes = 3;
constexpr Eigen::Index kMostNumbers = Eigen::Index{1} << 25;

// How exactly the dual is raised, as a share of the allowed gap, and in how
// many rounds over the queries. Raise() doubles both if a pass leaves more than
// kSlow of the gap: with planes mixed too roughly that could go on for ever.
struct Effort {
  double share = 0.1;
  int rounds = 500;

  void Raise() {
    share = std::max(share / 2, 1e-2);
    rounds = std::min(2 * rounds, 2000);
  }
};
constexpr double kSlow = 0.9;

// Ends a search in which several passes hardly lowered the gap: features of
// very different scale could stall it for ever.
class Patience {
 public:
  // To be called after each pass. Returns true if the search should end.
  bool Over(double gap) {
    ++passes_;
    if (gap < kLeft * least_) {
      least_ = gap;
      passes_ = 0;
    }
    return passes_ >= kMostPasses;
  }

 private:
  static constexpr double kLeft = 0.99;
  static constexpr int kMostPasses = 50;

  double least_ = std::numeric_limits<double>::infinity();
  int passes_ = 0;
};

// Returns the number of planes to keep per query. A minimum over d parameters
// needs d planes in addition to one for each query.
Eigen::Index Capacity(const HingeProblem& problem) {
  const auto queries = static_cast<Eigen::Index>(problem.num_queries());
  const Eigen::Index d = problem.dimension();
  return std::clamp(kMostNumbers / (queries * d), kFewestPlanes,
                    kMostPlanes + d / queries);
}

}  // namespace

HingeAscent::HingeAscent(HingeProblem* problem, const HingeOptions& options)
    : problem_(*problem),
      options_(options),
      planes_(problem->num_queries(), problem->dimension(),
              Capacity(*problem)) {}

double HingeAscent::Evaluate(double lambda, const Eigen::VectorXd& point) {
  double sum = 0;
  for (size_t q = 0; q < problem_.num_queries(); ++q) {
    problem_.Evaluate(q, point, &plane_);
    planes_.Add(q, plane_.offset, plane_.slope);
    sum += plane_.value;
  }
  has_planes_ = true;
  return lambda / 2 * point.squaredNorm() +
         sum / static_cast<double>(problem_.num_queries());
}

absl::StatusOr<HingeResult> HingeAscent::Minimise(
    double lambda, const std::function<void()>& on_pass) {
  RETURN_IF_ERROR(CheckLambda(lambda));
  const double allowed = options_.gap_tolerance();
  Effort effort;
  Patience patience;
  HingeResult result;
  result.dual_bound = problem_.lower_bound();
  // The bound that the planes prove.
  double raised = -std::numeric_limits<double>::infinity();
  Eigen::VectorXd point = Eigen::VectorXd::Zero(problem_.dimension());
  const auto raise = [&] {
    const auto bound =
        planes_.Maximise(lambda, effort.share * allowed, effort.rounds);
    raised = std::max(raised, bound.value);
    result.dual_bound = std::max(result.dual_bound, raised);
    point = bound.point;
  };
  if (has_planes_) raise();
  while (result.gap() > allowed && !result.stalled &&
         result.passes < options_.max_passes()) {
    const double before = result.objective - raised;
    const double objective = Evaluate(lambda, point);
    if (!std::isfinite(objective)) {
      return absl::InternalError("the objective is not finite");
    }
    ++result.passes;
    if (on_pass) on_pass();
    if (objective < result.objective) {
      result.objective = objective;
      result.weights = point;
    }
    raise();
    if (result.objective - raised > kSlow * before) effort.Raise();
    result.stalled = patience.Over(result.gap()) && result.gap() > allowed;
  }
  result.termination = result.gap() <= allowed ? "gap closed"
                       : result.stalled        ? "stalled"
                                               : "max passes";
  return result;
}

}  // namespace sortition
