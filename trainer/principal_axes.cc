#include "trainer/principal_axes.h"

#include <algorithm>
#include <cmath>

#include "Eigen/Eigenvalues"

namespace sortition {
namespace {

using Index = Eigen::Index;

constexpr Index kMostRows = 400;
// Of the variance: less is rounding.
constexpr double kRounding = 1e-12;

}  // namespace

std::vector<Index> EvenlySpaced(Index count, Index most) {
  const Index chosen = std::min(count, most);
  std::vector<Index> places(chosen);
  for (Index i = 0; i < chosen; ++i) places[i] = i * count / chosen;
  return places;
}

PrincipalAxes FindPrincipalAxes(const ScoreMatrix& vectors) {
  ScoreMatrix rows =
      vectors(EvenlySpaced(vectors.rows(), kMostRows), Eigen::all);
  PrincipalAxes result;
  result.centre = rows.colwise().mean();
  rows.rowwise() -= result.centre;
  // u an eigenvector of X Xᵀ to λ: Xᵀ u / √λ is one of Xᵀ X.
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(rows *
                                                              rows.transpose());
  const Eigen::VectorXd& values = solver.eigenvalues();  // Rising.
  const double total = values.cwiseMax(0).sum();
  result.axes = Eigen::MatrixXd::Zero(rows.cols(), 2);
  for (Index a = 0; a < std::min<Index>(2, values.size()); ++a) {
    const Index place = values.size() - 1 - a;
    if (!(values(place) > kRounding * total)) break;
    Eigen::VectorXd axis = rows.transpose() * solver.eigenvectors().col(place) /
                           std::sqrt(values(place));
    Index largest = 0;
    axis.cwiseAbs().maxCoeff(&largest);
    result.axes.col(a) = axis(largest) < 0 ? Eigen::VectorXd(-axis) : axis;
    result.shares[a] = values(place) / total;
  }
  return result;
}

}  // namespace sortition
