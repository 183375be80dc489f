#pragma once
// ListNet (list_net.h) pulled towards trusted orders:
//   min_w  λ/2 ‖w‖² + cross entropy + weight · D(w).
// D has kinks, one of them at w = 0, which stop L-BFGS. So this is solved as a
// HingeProblem by dual ascent, query by query (hinge_ascent.h), with a proof of
// the gap. A tangent of a query's cross entropy is a plane below it. If the
// scales of features differ by many orders of magnitude, the ascent stalls,
// because the dual of the planes does not change with the parameters' scale.
// L-BFGS over w_j times the scale of feature j then lowers J as far as kinks
// let it; the gap stays open.
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "core/data/labelled_items.h"
#include "core/learners/hinge/hinge_problem.h"
#include "core/learners/hinge/hinge_solver.h"
#include "core/learners/labelled/trusted_orders.h"
#include "sortition/config/v1/optim.pb.h"
#include "sortition/config/v1/orders.pb.h"

namespace sortition {

// Gap that the ascent aims at, in nats.
inline constexpr double kPulledListNetGap = 1e-4;

// InvalidArgument for the reasons of TrainListNet(), except for λ and options
// of L-BFGS. Requires orders of `queries`.
absl::StatusOr<std::unique_ptr<HingeProblem>> MakePulledListNet(
    std::span<const LabelledItems> queries,
    config::v1::ListNetOptions::Target target, const OrderPull& pull);

// options.max_iterations, at least 1, also limits the passes of the ascent.
// `problem` must outlive it.
std::unique_ptr<HingeSolver> MakePulledListNetSolver(
    HingeProblem* problem, const config::v1::LbfgsOptions& options);

}  // namespace sortition
