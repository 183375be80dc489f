#pragma once
// N_SLACK: minimises J of a HingeProblem by ascent of its dual, query by query.
//
// This is [LacosteJulienEtAl13], except that the planes of every query are kept
// (query_planes.h), since finding another plane is what costs. A pass asks
// every query for its plane at one point, which gives J there. Then the dual is
// raised over all planes, which gives the bound and the next point. Planes do
// not depend on λ, so the next λ of a path needs only a pass or two.
#include "absl/status/statusor.h"
#include "core/learners/hinge/hinge_solver.h"
#include "core/optim/query_planes.h"

namespace sortition {

class HingeAscent : public HingeSolver {
 public:
  // Keeps up to 20 planes of each query, or fewer if those take more than 256
  // MB.
  HingeAscent(HingeProblem* problem, const config::v1::HingeOptions& options);

  absl::StatusOr<HingeResult> Minimise(
      double lambda, const std::function<void()>& on_pass) override;

 private:
  // Returns J at `point` and adds the planes there.
  double Evaluate(double lambda, const Eigen::VectorXd& point);

  HingeProblem& problem_;
  const config::v1::HingeOptions options_;
  QueryPlanes planes_;
  bool has_planes_ = false;
  RiskPlane plane_;
};

}  // namespace sortition
