#pragma once
// Measures how far the vectors to be grouped are from orders.
#include "Eigen/Core"
#include "core/aggregation/block_function.h"
#include "core/aggregation/cluster.h"

namespace sortition {

// Returns the vectors with the lowest score of each block subtracted from all
// scores of the block. This changes no divergence, and blocks whose scores are
// all equal become exactly 0.
ScoreMatrix WithoutLeast(const ScoreMatrix& vectors, const BlockFunction& f);

// Divergences of the rows of a matrix. Each is computed as the difference of
// two sums and set to 0 if it is within their rounding error.
class VectorMeasure {
 public:
  // Both arguments must outlive this object.
  VectorMeasure(const ScoreMatrix& vectors, const BlockFunction& f);

  // Returns d(x_i‖σ) for `h` = h_σ. If h is the mean of h_σ over several σ,
  // this is the mean of the divergences.
  double Divergence(Eigen::Index i, const Eigen::RowVectorXd& h) const;

  // d(x_i‖reversed order of x_i) for each i: the largest possible divergence.
  const Eigen::VectorXd& reversed() const { return reversed_; }
  // The mean of d(x_i‖σ) over all σ, for each i: Σ_b f̂_b(x) - mean(h_b) Σ x_b.
  const Eigen::VectorXd& by_chance() const { return by_chance_; }
  // A sum of divergences over all vectors is rounding error if it is below
  // this.
  double rounding() const { return rounding_; }

 private:
  void Measure(Eigen::Index i, const Eigen::RowVectorXd& chance);

  const ScoreMatrix& vectors_;
  const BlockFunction& f_;
  Eigen::VectorXd extensions_;  // f̂ of each vector.
  Eigen::VectorXd reversed_;
  Eigen::VectorXd by_chance_;
  double rounding_ = 0;
};

}  // namespace sortition
