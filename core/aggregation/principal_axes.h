#pragma once
// Two axes along which vectors differ most, to draw them.
#include <array>
#include <cstddef>
#include <vector>

#include "Eigen/Core"
#include "core/aggregation/cluster.h"

namespace sortition {

// The first two principal components [Pearson01] of the rows, or of some.
struct PrincipalAxes {
  Eigen::RowVectorXd centre;
  Eigen::MatrixXd axes;  // A column each, of length 1; 0: nothing varies.
  std::array<double, 2> shares = {0, 0};  // Of the variance.
  bool of_sample = false;

  // One row for each of `rows` of `vectors`.
  Eigen::MatrixXd Project(const ScoreMatrix& vectors,
                          const std::vector<Eigen::Index>& rows) const;
};

// `most` of 0 .. count - 1, rising: one by lot of each of as many parts of
// about equal size, so that no period of the rows is met. All where there are
// no more.
std::vector<Eigen::Index> SpreadOut(Eigen::Index count, Eigen::Index most);

// By the Gram matrix of at most 400 rows: O(400² columns), without a copy of
// them. Of each axis the entry of largest size is positive.
PrincipalAxes FindPrincipalAxes(const ScoreMatrix& vectors);

}  // namespace sortition
