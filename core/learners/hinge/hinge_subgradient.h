#pragma once
// SUBGRADIENT: J of a HingeProblem by a step for each query in turn,
//
//   w <- w - η_t (λ w + g_q),  η_t = 2 / (λ (t + t_0)),
//
// g_q the slope of H_q at w, and the mean of the points weighted by t + t_0
// [LacosteJulienEtAl12]. Every pass visits each query once, in an order of its
// own. t_0 keeps the first steps from flying far off where λ is small.
//
// The gap. With o_q + g_q·v <= H_q(v) for every v, wherever in the pass the
// plane was met, the mean of a pass's planes is one plane below the mean of the
// hinges,
//   (1/N) Σ_q (o_q + g_q·v) <= R(v),
// and for passes p and weights ω_p >= 0 of sum 1, with o and g their means so
// weighted,
//   min J >= min_v λ/2 ‖v‖² + o + g·v = o - ‖g‖² / (2λ).
// ω ∝ p is what the steps alone would prove; CuttingPlanes finds the best ω of
// the last passes, and the planes at the weighted means, which give J as well.
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
  // One step for each query; adds the mean of their planes.
  void Pass(double lambda, Walk* walk);
  // J at the point, and the bound with its plane.
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
