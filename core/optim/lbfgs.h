#pragma once
// Limited-memory BFGS [LiuNocedal89] with the line search of Moré and Thuente,
// which ends where the strong Wolfe conditions hold (liblbfgs).
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
  kLineSearch,  // No step along the direction is better: as far as the
                // precision of f goes.
  kStopped,     // By `stop`.
};
absl::string_view LbfgsTerminationName(LbfgsTermination termination);

struct LbfgsResult {
  Eigen::VectorXd point;
  double value = 0;  // f(point) <= f(start).
  uint32_t iterations = 0;
  uint32_t evaluations = 0;  // Of value and gradient.
  LbfgsTermination termination = LbfgsTermination::kMaxIterations;
};

// A local minimum of `objective` near `start`, which must have its dimension.
// Deterministic. InvalidArgument where the start is not finite or of the wrong
// size, Internal where the objective is not finite on the way. `on_iteration`
// may be empty; it gets the number of the iteration, from 1. `stop` may be
// empty; it is asked at the start and after each iteration, and true ends the
// descent.
absl::StatusOr<LbfgsResult> MinimizeByLbfgs(
    const Objective& objective, const Eigen::VectorXd& start,
    const config::v1::LbfgsOptions& options,
    const std::function<void(uint32_t iteration)>& on_iteration,
    const std::function<bool()>& stop = nullptr);

}  // namespace sortition
