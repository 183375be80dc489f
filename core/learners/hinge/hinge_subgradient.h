#pragma once
// SUBGRADIENT: minimises J of a HingeProblem by a step for each query in turn,
//
//   w <- w - η_t (λ w + g_q),  η_t = 2 / (λ (t + t_0)),
//
// where g_q is the slope of H_q at w. It returns the mean of the points
// weighted by t + t_0 [LacosteJulienEtAl12]. Every pass visits each query once,
// in a new order. t_0 keeps the first steps from going far astray if λ is
// small.
//
// The gap: o_q + g_q·v <= H_q(v) for every v, wherever in the pass the plane
// was found. So the mean of a pass's planes is one plane below the mean of the
// hinges,
//   (1/N) Σ_q (o_q + g_q·v) <= R(v).
// Let o and g be the means of several passes' planes with weights ω_p >= 0 that
// add up to 1. Then
//   min J >= min_v λ/2 ‖v‖² + o + g·v = o - ‖g‖² / (2λ).
// The steps alone would prove the bound of ω ∝ p. CuttingPlanes finds the best
// ω for the last passes and the planes at the weighted means, which also give
// J.
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/random.h"
#include "core/learners/hinge/hinge_solver.h"
#include "core/optim/cutting_planes.h"

namespace sortition {

class HingeSubgradient : public HingeSolver {
 public:
  HingeSubgradient(HingeProblem* problem,
                   const config::v1::HingeOptions& options);
  absl::StatusOr<HingeResult> Minimise(
      double lambda, const std::function<void()>& on_pass) override;

 private:
  struct Walk;

  Walk Start(double lambda);
  // Makes one step for each query; adds the mean of their planes.
  void Pass(double lambda, Walk* walk);
  // Evaluates J at the point, and the bound with its plane.
  void Judge(double lambda, const Eigen::VectorXd& point, HingeResult* result);

  HingeProblem& problem_;
  const config::v1::HingeOptions options_;
  CuttingPlanes planes_;
  RandomSequence random_;
  std::vector<size_t> order_;
  Eigen::VectorXd start_;
  RiskPlane plane_;
};

}  // namespace sortition
