#pragma once
// Lower bounds of a convex function with a quadratic penalty from a bundle of
// planes below it [TeoEtAl10].
#include "Eigen/Core"

namespace sortition {

// Let J(θ) = λ/2 |θ|² + R(θ) with R convex and above every plane a_t + g_t·θ.
// Then
//   J(θ) >= min_θ λ/2 |θ|² + max_t (a_t + g_t·θ)
//         = max_α Σ α_t a_t - |Σ α_t g_t|² / (2λ),  α >= 0, Σ α = 1,
// and every such α gives a bound. The planes do not depend on λ.
class CuttingPlanes {
 public:
  // Keeps the last `capacity` planes.
  CuttingPlanes(Eigen::Index dimension, Eigen::Index capacity);

  void Add(double offset, const Eigen::VectorXd& slope);

  struct Bound {
    double value;           // -infinity if there are no planes.
    Eigen::VectorXd point;  // -Σ α_t g_t / λ, the minimum of the model.
  };
  // Maximises the bound over α by moving weight between pairs of coordinates
  // [Platt98], until no pair gains more than `tolerance` to first order. Starts
  // at the last α or at the best single plane. Requires lambda > 0.
  Bound Maximise(double lambda, double tolerance, int max_steps = 20000);
  // Does the same for weight/2 |θ - centre|² instead of λ/2 |θ|².
  Bound MaximiseAround(const Eigen::VectorXd& centre, double weight,
                       double tolerance, int max_steps);
  // Returns max_t (a_t + g_t·θ); -infinity if there are no planes.
  double ModelAt(const Eigen::VectorXd& theta) const;

 private:
  // Maximise() with `offsets` instead of a_t. Requires num_planes_ > 0.
  Bound Solve(const Eigen::VectorXd& offsets, double lambda, double tolerance,
              int max_steps);
  Eigen::VectorXd StartingWeights(const Eigen::VectorXd& offsets,
                                  double lambda) const;

  Eigen::Index num_planes_ = 0;
  Eigen::Index next_ = 0;
  Eigen::MatrixXd slopes_;   // dimension × capacity
  Eigen::VectorXd offsets_;  // capacity
  Eigen::MatrixXd gram_;     // g_s·g_t
  Eigen::VectorXd alpha_;    // The last maximum; 0 for newer planes.
};

}  // namespace sortition
