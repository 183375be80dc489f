#pragma once
// Two axes along which vectors differ most, to draw them.
#include <array>
#include <cstddef>
#include <vector>

#include "Eigen/Core"
#include "core/aggregation/cluster.h"

namespace sortition {

// The first two principal components [Pearson01] of some of the rows.
struct PrincipalAxes {
  Eigen::RowVectorXd centre;
  Eigen::MatrixXd axes;  // A column each, of length 1; 0: nothing varies.
  std::array<double, 2> shares = {0, 0};  // Of the variance.

  // One row for each of `vectors`.
  Eigen::MatrixXd Project(const Eigen::Ref<const ScoreMatrix>& vectors) const {
    return (vectors.rowwise() - centre) * axes;
  }
};

// `most` of 0 .. count - 1, evenly spaced; all where there are no more.
std::vector<Eigen::Index> EvenlySpaced(Eigen::Index count, Eigen::Index most);

// By the Gram matrix of at most 400 rows, evenly spaced: O(400² columns). Of
// each axis the entry of largest size is positive.
PrincipalAxes FindPrincipalAxes(const ScoreMatrix& vectors);

}  // namespace sortition
