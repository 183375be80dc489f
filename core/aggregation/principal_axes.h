#pragma once
// Finds the two axes along which vectors differ most, to plot the vectors.
#include <array>
#include <cstddef>
#include <vector>

#include "Eigen/Core"
#include "core/aggregation/cluster.h"

namespace sortition {

// The first two principal components [Pearson01] of the rows of a matrix, or of
// a sample of the rows.
struct PrincipalAxes {
  Eigen::RowVectorXd centre;
  Eigen::MatrixXd axes;  // One unit vector per column; 0: no variance.
  std::array<double, 2> shares = {0, 0};  // Shares of the total variance.
  bool of_sample = false;

  // Returns the coordinates along the two axes of the given `rows` of
  // `vectors`: one row for each.
  Eigen::MatrixXd Project(const ScoreMatrix& vectors,
                          const std::vector<Eigen::Index>& rows) const;
};

// Returns `most` of the numbers 0 .. count - 1 in increasing order: one drawn
// at random from each of `most` parts of about equal size, so that a periodic
// pattern in the rows does not bias the sample. Returns all numbers if count <=
// most.
std::vector<Eigen::Index> SpreadOut(Eigen::Index count, Eigen::Index most);

// Computes the axes from the Gram matrix of at most 400 rows, in O(400² ·
// columns) and without copying the rows. The sign of each axis is chosen so
// that its entry of largest absolute value is positive.
PrincipalAxes FindPrincipalAxes(const ScoreMatrix& vectors);

}  // namespace sortition
