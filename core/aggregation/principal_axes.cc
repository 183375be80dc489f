#include "core/aggregation/principal_axes.h"

#include <algorithm>
#include <cmath>

#include "Eigen/Eigenvalues"
#include "absl/strings/str_cat.h"
#include "core/base/hash.h"

namespace sortition {
namespace {

using Index = Eigen::Index;

constexpr Index kMaxSampledRows = 400;
constexpr Index kPartColumns = 1024;  // Columns copied at a time.
// A smaller share of the variance is rounding error.
constexpr double kMinVarianceShare = 1e-12;

}  // namespace

std::vector<Index> SpreadOut(Index count, Index most) {
  const Index chosen = std::min(count, most);
  std::vector<Index> places(chosen);
  for (Index i = 0; i < chosen; ++i) {
    const Index begin = i * count / chosen;
    const Index size = (i + 1) * count / chosen - begin;
    const double place = UnitInterval(
        StableHash(HashDomain::kSubsample, {"row", absl::StrCat(i)}));
    places[i] =
        begin + std::min(size - 1,
                         static_cast<Index>(place * static_cast<double>(size)));
  }
  return places;
}

Eigen::MatrixXd PrincipalAxes::Project(const ScoreMatrix& vectors,
                                       const std::vector<Index>& rows) const {
  Eigen::MatrixXd projected(rows.size(), axes.cols());
  Eigen::RowVectorXd difference(vectors.cols());
  for (size_t i = 0; i < rows.size(); ++i) {
    difference = vectors.row(rows[i]) - centre;
    projected.row(static_cast<Index>(i)) = difference * axes;
  }
  return projected;
}

PrincipalAxes FindPrincipalAxes(const ScoreMatrix& vectors) {
  const std::vector<Index> rows = SpreadOut(vectors.rows(), kMaxSampledRows);
  const auto n = static_cast<Index>(rows.size());
  PrincipalAxes result;
  result.of_sample = n < vectors.rows();
  result.centre.setZero(vectors.cols());
  for (const Index row : rows) result.centre += vectors.row(row);
  result.centre /= static_cast<double>(n);
  const auto part = [&](Index begin) -> ScoreMatrix {
    const Index size = std::min(kPartColumns, vectors.cols() - begin);
    const auto columns = Eigen::seqN(begin, size);
    return ScoreMatrix(vectors(rows, columns)).rowwise() -
           result.centre.segment(begin, size);
  };
  Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(n, n);
  for (Index begin = 0; begin < vectors.cols(); begin += kPartColumns) {
    const ScoreMatrix x = part(begin);
    gram += x * x.transpose();
  }
  // If u is a unit eigenvector of X Xᵀ with the eigenvalue λ, then Xᵀ u / √λ is
  // a unit eigenvector of Xᵀ X.
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(gram);
  const Eigen::VectorXd& values = solver.eigenvalues();  // Increasing.
  const double total = values.cwiseMax(0).sum();
  result.axes = Eigen::MatrixXd::Zero(vectors.cols(), 2);
  for (Index a = 0; a < std::min<Index>(2, n); ++a) {
    const Index place = n - 1 - a;
    if (!(values(place) > kMinVarianceShare * total)) break;
    const Eigen::VectorXd u =
        solver.eigenvectors().col(place) / std::sqrt(values(place));
    auto axis = result.axes.col(a);
    for (Index begin = 0; begin < vectors.cols(); begin += kPartColumns) {
      const ScoreMatrix x = part(begin);
      axis.segment(begin, x.cols()) = x.transpose() * u;
    }
    Index largest = 0;
    axis.cwiseAbs().maxCoeff(&largest);
    if (axis(largest) < 0) axis = -axis;
    result.shares[a] = values(place) / total;
  }
  return result;
}

}  // namespace sortition
