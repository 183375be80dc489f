#pragma once
// Solvers of a HingeProblem that prove how near the minimum they end: each has
// a point w and the planes that bound J from below (cutting_planes.h).
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/learners/hinge/hinge_problem.h"

namespace sortition {

struct HingeResult {
  Eigen::VectorXd weights;
  double objective = std::numeric_limits<double>::infinity();  // J(weights)
  // min J is not below it.
  double dual_bound = -std::numeric_limits<double>::infinity();
  uint32_t passes = 0;  // Over the queries, those at one point included.
  std::string termination;
  bool stalled = false;  // Many passes gained nothing.
  double gap() const { return objective - dual_bound; }
};

class HingeSolver {
 public:
  virtual ~HingeSolver() = default;
  // Goes on from what was learned at the last lambda: a path is best walked
  // down. `on_pass` may be empty. Deterministic. InvalidArgument where lambda
  // is not above 0 and finite; Internal where numbers overflow.
  virtual absl::StatusOr<HingeResult> Minimise(
      double lambda, const std::function<void()>& on_pass) = 0;
};

// InvalidArgument where it is not above 0 and finite.
absl::Status CheckLambda(double lambda);

// As the options say: hinge_ascent.h for N_SLACK, one_slack.h for ONE_SLACK,
// hinge_subgradient.h for SUBGRADIENT. `problem` must outlive it.
std::unique_ptr<HingeSolver> MakeHingeSolver(
    HingeProblem* problem, const config::v1::HingeOptions& options);

}  // namespace sortition
