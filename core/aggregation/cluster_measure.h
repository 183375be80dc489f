#pragma once
// How far the vectors that are grouped are from orders.
#include "Eigen/Core"
#include "core/aggregation/block_function.h"
#include "core/aggregation/cluster.h"

namespace sortition {

// The vectors less their least score in each block: as far from every order as
// before, and exactly 0 where all scores are equal.
ScoreMatrix WithoutLeast(const ScoreMatrix& vectors, const BlockFunction& f);

// Of the rows of a matrix. A divergence is a difference of two sums: 0 where it
// is within their rounding.
class VectorMeasure {
 public:
  // Both must outlive it.
  VectorMeasure(const ScoreMatrix& vectors, const BlockFunction& f);

  // d(x_i‖σ), `h` being h_σ; of a mean of such the mean of the divergences.
  double Divergence(Eigen::Index i, const Eigen::RowVectorXd& h) const;

  // d(x_i‖reversed order of x_i): the most there can be.
  const Eigen::VectorXd& reversed() const { return reversed_; }
  // The mean of d(x_i‖σ) over all σ: Σ_b f̂_b(x) - mean(h_b) Σ x_b.
  const Eigen::VectorXd& by_chance() const { return by_chance_; }
  // What is rounding in a sum over all vectors.
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
