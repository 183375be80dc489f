#pragma once
// ListNet (list_net.h) pulled towards trusted orders:
//   min_w  λ/2 ‖w‖² + cross entropy + weight · D(w).
// D has kinks, so that L-BFGS alone need not end at the minimum: cutting planes
// follow (certified_descent.h), and with them a proof of the gap.
#include <span>

#include "absl/status/statusor.h"
#include "core/learners/certified_descent.h"
#include "core/learners/game_queries.h"
#include "core/learners/trusted_orders.h"
#include "sortition/config/v1/learner.pb.h"

namespace sortition {

// How near the minimum it is to end, as a share of the objective, and cutting
// planes at most.
inline constexpr double kPulledListNetGap = 1e-3;
inline constexpr uint32_t kMostPulledCuts = 1000;

// As TrainListNet(), with its errors. Requires orders, of `queries`.
absl::StatusOr<DescentResult> TrainPulledListNet(
    std::span<const GameQuery> queries, double lambda,
    const config::v1::ListNetOptions& options, const OrderPull& pull,
    const DescentWatcher& watcher = nullptr);

}  // namespace sortition
