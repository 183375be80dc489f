#include "bench/reference/matrix_game.h"

#include <algorithm>
#include <vector>

#include "ClpSimplex.hpp"
#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

constexpr double kTolerance = 1e-9;

// Makes the strategy a probability vector by cutting off what the solver's
// tolerances have left.
Eigen::VectorXd Normalised(Eigen::VectorXd strategy) {
  strategy = strategy.cwiseMax(0);
  return strategy / strategy.sum();
}

}  // namespace

// Solves max v subject to Σ_i x_i payoffs(i, j) - v ≥ 0 for every column j, Σ x
// = 1, x ≥ 0. The columns' strategy is the dual.
absl::StatusOr<MatrixGameSolution> SolveMatrixGame(
    const Eigen::MatrixXd& payoffs) {
  const int rows = static_cast<int>(payoffs.rows());
  const int columns = static_cast<int>(payoffs.cols());
  if (rows == 0 || columns == 0 || !payoffs.allFinite()) {
    return absl::InvalidArgumentError(
        absl::StrCat("payoffs has ", rows, " rows and ", columns,
                     " columns, must have 1 at least of each and finite "
                     "entries"));
  }
  ClpSimplex simplex;
  simplex.setLogLevel(0);
  simplex.setPrimalTolerance(kTolerance);
  simplex.setDualTolerance(kTolerance);
  simplex.setOptimizationDirection(-1);
  simplex.resize(columns + 1, 0);
  for (int j = 0; j < columns; ++j) simplex.setRowBounds(j, 0, COIN_DBL_MAX);
  simplex.setRowBounds(columns, 1, 1);
  std::vector<int> indexes(columns + 1);
  for (int j = 0; j <= columns; ++j) indexes[j] = j;
  std::vector<double> column(columns + 1, 1.0);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) column[j] = payoffs(i, j);
    simplex.addColumn(columns + 1, indexes.data(), column.data(), 0,
                      COIN_DBL_MAX, 0);
  }
  std::fill(column.begin(), column.end(), -1.0);
  simplex.addColumn(columns, indexes.data(), column.data(), -COIN_DBL_MAX,
                    COIN_DBL_MAX, 1);
  simplex.primal();
  if (simplex.status() != 0) {
    return absl::InternalError(absl::StrCat("Clp ended with status ",
                                            simplex.status(), " for ", rows,
                                            " rows and ", columns, " columns"));
  }
  const Eigen::Map<const Eigen::VectorXd> primal(simplex.primalColumnSolution(),
                                                 rows);
  const Eigen::Map<const Eigen::VectorXd> dual(simplex.dualRowSolution(),
                                               columns);
  return MatrixGameSolution{.value = simplex.objectiveValue(),
                            .row_strategy = Normalised(primal),
                            .column_strategy = Normalised(dual.cwiseAbs())};
}

}  // namespace sortition
