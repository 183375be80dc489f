#pragma once
// N_SLACK: J of a HingeProblem by ascent of its dual, query by query.
//
// As [LacosteJulienEtAl13], but with the planes of every query kept
// (query_planes.h), since looking for another is what costs: a pass asks every
// query for its plane at one point, which gives J there, then the dual is
// raised over all planes, which gives the bound and the next point. Planes do
// not depend on λ, so that the next one of a path needs a pass or two.
#include "absl/status/statusor.h"
#include "core/learners/hinge/hinge_solver.h"
#include "core/optim/query_planes.h"

namespace sortition {

class HingeAscent : public HingeSolver {
 public:
  // Keeps up to 20 planes of a query, fewer where that is more than 256 MB.
  HingeAscent(HingeProblem* problem, const config::v1::HingeOptions& options);

  absl::StatusOr<HingeResult> Minimise(
      double lambda, const std::function<void()>& on_pass) override;

 private:
  // J at `point`, whose planes are added.
  double Evaluate(double lambda, const Eigen::VectorXd& point);

  HingeProblem& problem_;
  const config::v1::HingeOptions options_;
  QueryPlanes planes_;
  bool has_planes_ = false;
  RiskPlane plane_;
};

}  // namespace sortition
