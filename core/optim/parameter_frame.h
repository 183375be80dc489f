#pragma once
// Coordinates in which parameters are optimised.
#include "Eigen/Core"
#include "core/optim/objective.h"

namespace sortition {

// v = (w - w₀) / s by entry: where w is measured from and in which units.
// Optimisers whose steps depend on units move v, and penalties bound ‖v‖.
struct ParameterFrame {
  Eigen::VectorXd origin = {};  // w₀; empty: 0.
  Eigen::VectorXd scales = {};  // s, positive and finite; empty: 1.

  bool is_trivial() const { return origin.size() == 0 && scales.size() == 0; }
  Eigen::VectorXd Into(const Eigen::VectorXd& w) const;  // Returns v.
  Eigen::VectorXd From(const Eigen::VectorXd& v) const;  // Returns w.
  double SquaredNorm(const Eigen::VectorXd& w) const;    // ‖v‖²
};

// The values of the columns of a matrix that are not 0.
struct ColumnSums {
  Eigen::VectorXd squares;  // Sum of the squares in each column.
  Eigen::VectorXd counts;   // How many there are in each column.
  double rows = 0;
};

// Returns 1 / (rms √m) for each column, where rms is the root mean square of
// its values and m the mean number of values in a row, so that rows in these
// units are as long as 1; 1 for a column without values. Multiplying a column
// by a constant divides its scale by the same, so that what is learned in the
// frame does not depend on its unit. Zeros are left out so that rare features,
// of which little is known, do not get large steps.
Eigen::VectorXd ScalesOf(const ColumnSums& sums);

// f(v) = R(w) / κ + ν p(w) + μ ‖v‖²
struct FramedTask {
  const Objective* risk = nullptr;  // R
  double unit = 1;                  // κ > 0: the R that counts as 1.
  const Objective* pull = nullptr;  // p; null: 0.
  double pull_weight = 0;           // ν
  double l2 = 0;                    // μ
};

class FramedObjective : public Objective {
 public:
  // The frame and what the task points to must outlive this.
  FramedObjective(const FramedTask& task, const ParameterFrame* frame)
      : task_(task), frame_(frame) {}

  Eigen::Index dimension() const override { return task_.risk->dimension(); }
  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override;

 private:
  FramedTask task_;
  const ParameterFrame* frame_;
};

}  // namespace sortition
