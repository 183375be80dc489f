#pragma once
// Solvers of a HingeProblem that prove how near the minimum they end: each has
// a point w and planes that bound J from below (cutting_planes.h).
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
  // Lower bound of min J.
  double dual_bound = -std::numeric_limits<double>::infinity();
  uint32_t passes = 0;  // Over the queries, including evaluations at one point.
  std::string termination;
  bool stalled = false;  // Many passes made no progress.
  double gap() const { return objective - dual_bound; }
};

class HingeSolver {
 public:
  virtual ~HingeSolver() = default;
  // Starts from what was learned at the previous lambda, so a path should go
  // from large to small. `on_pass` may be empty. Deterministic. InvalidArgument
  // if lambda is not above 0 and finite; Internal if numbers overflow.
  virtual absl::StatusOr<HingeResult> Minimise(
      double lambda, const std::function<void()>& on_pass) = 0;
};

// InvalidArgument if lambda is not above 0 and finite.
absl::Status CheckLambda(double lambda);

// Makes the solver that the options name: hinge_ascent.h for N_SLACK,
// one_slack.h for ONE_SLACK, hinge_subgradient.h for SUBGRADIENT. `problem`
// must outlive it.
std::unique_ptr<HingeSolver> MakeHingeSolver(
    HingeProblem* problem, const config::v1::HingeOptions& options);

}  // namespace sortition
