#pragma once
// The candidates of labelled queries as rows of a regression.
#include <span>

#include "Eigen/Core"
#include "core/data/labelled_items.h"
#include "core/optim/ridge.h"

namespace sortition {

// The rows (x_i, 1) of all queries, one after the other. v has the weights and,
// last, an intercept. Requires valid queries; what they view must outlive it.
class CandidateRows : public RidgeRows {
 public:
  explicit CandidateRows(std::span<const LabelledItems> queries);

  Eigen::Index rows() const override { return rows_; }
  Eigen::Index columns() const override { return columns_; }
  void Multiply(const Eigen::VectorXd& v,
                Eigen::VectorXd* products) const override;
  void AddTransposed(const Eigen::VectorXd& factors,
                     Eigen::VectorXd* sum) const override;
  void AddSquares(Eigen::VectorXd* sum) const override;

  Eigen::VectorXd Relevances() const;
  // Returns `l2` for each weight and 0 for the intercept.
  Eigen::VectorXd Penalties(double l2) const;

 private:
  std::span<const LabelledItems> queries_;
  Eigen::Index rows_ = 0;
  Eigen::Index columns_ = 0;
};

}  // namespace sortition
