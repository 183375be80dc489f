#pragma once
// Limited-memory BFGS [LiuNocedal89] with the line search of Moré and Thuente,
// which ends when the strong Wolfe conditions hold. Uses liblbfgs.
#include <cstdint>
#include <functional>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/optim/objective.h"
#include "sortition/config/v1/optim.pb.h"

namespace sortition {

enum class LbfgsTermination {
  kGradient,  // ‖∇f‖ <= gradient_tolerance · max(1, ‖x‖).
  kDecrease,  // f fell by less than decrease_tolerance · |f| in one step.
  kMaxIterations,
  // No step along the direction improves f within its numerical precision.
  kLineSearch,
  kStopped,  // `stop` returned true.
};
absl::string_view LbfgsTerminationName(LbfgsTermination termination);

struct LbfgsResult {
  Eigen::VectorXd point;
  double value = 0;  // f(point) <= f(start).
  uint32_t iterations = 0;
  uint32_t evaluations = 0;  // Each of value and gradient.
  LbfgsTermination termination = LbfgsTermination::kMaxIterations;
};

// Finds a local minimum of `objective`, starting at `start`. Deterministic.
// InvalidArgument if the start is not finite or its size is not the dimension
// of the objective; Internal if the objective becomes not finite.
// `on_iteration` may be empty; it is called with the number of each iteration,
// from 1. `stop` may be empty; it is called at the start and after each
// iteration, and ends the descent if it returns true.
absl::StatusOr<LbfgsResult> MinimizeByLbfgs(
    const Objective& objective, const Eigen::VectorXd& start,
    const config::v1::LbfgsOptions& options,
    const std::function<void(uint32_t iteration)>& on_iteration,
    const std::function<bool()>& stop = nullptr);

}  // namespace sortition
