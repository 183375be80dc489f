#pragma once
// Lower bounds of a convex function with quadratic penalty, from what was seen
// of it: a bundle [TeoEtAl10].
#include "Eigen/Core"

namespace sortition {

// J(θ) = λ/2 |θ|² + R(θ), R convex and above every plane a_t + g_t·θ. Then
//   J(θ) >= min_θ λ/2 |θ|² + max_t (a_t + g_t·θ)
//         = max_α Σ α_t a_t - |Σ α_t g_t|² / (2λ),  α >= 0, Σ α = 1,
// and any such α gives a bound. The planes do not depend on λ.
class CuttingPlanes {
 public:
  // Keeps the last `capacity` planes.
  CuttingPlanes(Eigen::Index dimension, Eigen::Index capacity);

  void Add(double offset, const Eigen::VectorXd& slope);

  struct Bound {
    double value;           // Proved; -infinity without planes.
    Eigen::VectorXd point;  // -Σ α_t g_t / λ, where the model is least.
  };
  // Maximises over α by steps in pairs of coordinates [Platt98], from the last
  // α found or the best single plane, until no pair gains more than `tolerance`
  // to first order. Requires lambda > 0.
  Bound Maximise(double lambda, double tolerance, int max_steps = 20000);
  // The same for weight/2 |θ - centre|² in place of λ/2 |θ|².
  Bound MaximiseAround(const Eigen::VectorXd& centre, double weight,
                       double tolerance, int max_steps);
  // max_t (a_t + g_t·θ); -infinity without planes.
  double ModelAt(const Eigen::VectorXd& theta) const;

 private:
  // Maximise() with `offsets` in place of a_t; num_planes_ > 0.
  Bound Solve(const Eigen::VectorXd& offsets, double lambda, double tolerance,
              int max_steps);
  Eigen::VectorXd StartingWeights(const Eigen::VectorXd& offsets,
                                  double lambda) const;

  Eigen::Index num_planes_ = 0;
  Eigen::Index next_ = 0;
  Eigen::MatrixXd slopes_;   // dimension × capacity
  Eigen::VectorXd offsets_;  // capacity
  Eigen::MatrixXd gram_;     // g_s·g_t
  Eigen::VectorXd alpha_;    // Of the last maximum; 0 for newer planes.
};

}  // namespace sortition
