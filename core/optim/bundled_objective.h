#pragma once
// J(θ) = λ/2 ‖θ‖² + R(θ), R convex, as an objective that remembers what its
// evaluations prove: the least value met, and planes below R.
#include <cstdint>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "core/optim/cutting_planes.h"
#include "core/optim/objective.h"

namespace sortition {

// Evaluations change this memory: one caller at a time.
class BundledObjective : public Objective {
 public:
  // Requires lambda > 0, finite. Forgets the best point, but no plane: R does
  // not depend on λ.
  void SetLambda(double lambda);
  double lambda() const { return lambda_; }

  Eigen::Index dimension() const final { return dimension_; }
  // Why an evaluation failed; OK for objectives that cannot fail.
  virtual absl::Status status() const { return absl::OkStatus(); }

  // The point of least J that was recorded since SetLambda(), and a bound of J
  // there: from above. Infinity and empty before the first.
  const Eigen::VectorXd& best_point() const { return best_point_; }
  double best_value() const { return best_value_; }
  // A lower bound of min J from all planes, and where their model is least; the
  // best such bound up to about `tolerance`, or what CuttingPlanes::Maximise()
  // finds in `max_steps` from the last one.
  virtual CuttingPlanes::Bound LowerBound(double tolerance,
                                          int max_steps = 20000) const;
  // Passes over the data.
  uint32_t evaluations() const { return evaluations_; }

 protected:
  // Keeps the last `capacity` planes.
  BundledObjective(Eigen::Index dimension, Eigen::Index capacity);

  // For Evaluate(). R(θ') >= offset + slope·θ' for every θ'. Counts a pass.
  void RecordPlane(double offset, const Eigen::VectorXd& slope) const;
  // R(point) <= risk.
  void RecordPoint(const Eigen::VectorXd& point, double risk) const;
  double Penalty(const Eigen::VectorXd& point) const {
    return lambda_ / 2 * point.squaredNorm();
  }

 private:
  const Eigen::Index dimension_;
  double lambda_ = 1;
  mutable CuttingPlanes planes_;
  mutable uint32_t evaluations_ = 0;
  mutable Eigen::VectorXd best_point_;
  mutable double best_value_;
};

}  // namespace sortition
