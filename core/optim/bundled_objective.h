#pragma once
// An objective J(θ) = λ/2 ‖θ‖² + R(θ), R convex, that remembers what its
// evaluations prove: the least value found, and planes below R.
#include <cstdint>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "core/optim/cutting_planes.h"
#include "core/optim/objective.h"

namespace sortition {

// Not thread-safe: evaluations change this memory.
class BundledObjective : public Objective {
 public:
  // Requires lambda > 0, finite. Forgets the best point but keeps the planes,
  // since R does not depend on λ.
  void SetLambda(double lambda);
  double lambda() const { return lambda_; }

  Eigen::Index dimension() const final { return dimension_; }
  // The error of a failed evaluation; OK for objectives that cannot fail.
  virtual absl::Status status() const { return absl::OkStatus(); }

  // The recorded point with the least J since SetLambda(), and an upper bound
  // of J there. Empty and infinity before the first evaluation.
  const Eigen::VectorXd& best_point() const { return best_point_; }
  double best_value() const { return best_value_; }
  // Returns a lower bound of min J from all planes, and the minimum of their
  // model. It is the best such bound up to about `tolerance`, or what
  // CuttingPlanes::Maximise() finds in `max_steps` from the previous one.
  virtual CuttingPlanes::Bound LowerBound(double tolerance,
                                          int max_steps = 20000) const;
  // Number of passes over the data.
  uint32_t evaluations() const { return evaluations_; }

 protected:
  // The objective will keep the last `capacity` planes.
  BundledObjective(Eigen::Index dimension, Eigen::Index capacity);

  // To be called by Evaluate(): records that R(θ') >= offset + slope·θ' for
  // every θ', and counts a pass.
  void RecordPlane(double offset, const Eigen::VectorXd& slope) const;
  // Records that R(point) <= risk.
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
