#include "bench/reference/assignment_lp.h"

#include "ClpSimplex.hpp"
#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

// The smallest tolerance that Clp accepts. A vertex is integral, so rounding
// removes the remaining error.
constexpr double kLpTolerance = 1e-10;
constexpr int kNoPerturbation = 100;

}  // namespace

absl::StatusOr<AssignmentLpSolution> SolveAssignmentLp(
    const Eigen::MatrixXd& costs) {
  const int n = static_cast<int>(costs.rows());
  if (n == 0 || costs.cols() != n || !costs.allFinite()) {
    return absl::InvalidArgumentError(
        absl::StrCat("costs has ", n, " rows and ", costs.cols(),
                     " columns, must be square, not empty, and finite"));
  }
  ClpSimplex simplex;
  simplex.setLogLevel(0);
  simplex.setPrimalTolerance(kLpTolerance);
  simplex.setDualTolerance(kLpTolerance);
  simplex.resize(2 * n, 0);
  for (int row = 0; row < 2 * n; ++row) simplex.setRowBounds(row, 1, 1);
  // Variables go column by column, as in Eigen.
  const double ones[] = {1, 1};
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      const int rows[] = {i, n + j};
      simplex.addColumn(2, rows, ones, 0, COIN_DBL_MAX, costs(i, j));
    }
  }
  simplex.setPerturbation(kNoPerturbation);
  simplex.dual();
  if (simplex.status() != 0) {
    return absl::InternalError(absl::StrCat(
        "Clp ended with status ", simplex.status(), " for ", n, " rows"));
  }
  AssignmentLpSolution solution;
  solution.matrix =
      Eigen::Map<const Eigen::MatrixXd>(simplex.primalColumnSolution(), n, n);
  solution.cost =
      solution.matrix.array().round().cwiseProduct(costs.array()).sum();
  return solution;
}

}  // namespace sortition
