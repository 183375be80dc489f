#pragma once
// Ridge regression from sums over examples, which merge, in constant memory.
#include <span>
#include <vector>

#include "Eigen/Core"

namespace sortition {

// The moments Σ w u uᵀ of u = (1, z, t): z the row of an example, t its target,
// w its weight. All that ridge regression needs, and all that the squared error
// of a linear model needs.
class RidgeSums {
 public:
  explicit RidgeSums(Eigen::Index num_columns);

  Eigen::Index num_columns() const { return moments_.rows() - 2; }

  // Requires finite numbers and weight >= 0.
  void Add(std::span<const float> row, double target, double weight);
  // Requires equal num_columns().
  void Merge(const RidgeSums& other);

  // Returns the moments; only the upper triangle counts.
  Eigen::MatrixXd Moments() const;

 private:
  void Flush();

  Eigen::MatrixXd moments_;
  // √w u of the last examples: many at once are faster than one by one.
  Eigen::MatrixXd pending_;
  Eigen::Index num_pending_ = 0;
};

struct LinearModel {
  double intercept = 0;
  Eigen::VectorXd coefficients;
};

// The penalties λ among which is chosen. The last one leaves a constant.
std::span<const double> RidgePenalties();

// Minimises, over `moments`, the objective
//   Σ w (t - a - b·z)² / Σ w + λ Σ_j (s_j b_j)²,
// s_j the standard deviation of column j: the intercept a is not penalised, and
// predictions do not depend on the units of columns, nor on their origins. A
// column that does not vary gets the coefficient 0.
class StandardisedRidge {
 public:
  explicit StandardisedRidge(const Eigen::MatrixXd& moments);

  // Returns the mean target if λ is infinite, and 0 without weight.
  LinearModel Solve(double penalty) const;

 private:
  double mean_target_ = 0;
  Eigen::VectorXd means_;
  Eigen::VectorXd scales_;        // 1 / s_j, or 0.
  Eigen::MatrixXd correlations_;  // Of columns; the lower triangle.
  Eigen::VectorXd covariances_;   // Of scaled columns with the target.
};

// Returns Σ w (t - a - b·z)² over `moments`.
double SquaredError(const LinearModel& model, const Eigen::MatrixXd& moments);

struct CrossFittedRidge {
  LinearModel model;
  double penalty = 0;
  // Of the model's mean over the folds that it is fitted to, each predicted
  // from the others of them: what its R² will be elsewhere.
  double expected_r_squared = 0;
};

// Returns for each fold k the model of the other folds. λ has the least squared
// error over these, each predicted from the rest of them: nothing of fold k has
// a part in its model, λ included. Sums are of folds that are left, never
// differences, so that this is true to the last bit. Cost: folds²/2 · penalties
// Cholesky factors. Requires num folds >= 3.
std::vector<CrossFittedRidge> FitCrossFittedRidge(
    std::span<const Eigen::MatrixXd> folds);

}  // namespace sortition
