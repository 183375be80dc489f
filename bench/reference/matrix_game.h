#pragma once
// Solves zero-sum games given as a matrix by linear programming (Clp).
#include "Eigen/Core"
#include "absl/status/statusor.h"

namespace sortition {

struct MatrixGameSolution {
  double value = 0;
  Eigen::VectorXd row_strategy;     // Maximises; ≥ 0, sums to 1.
  Eigen::VectorXd column_strategy;  // Minimises.
};

// Solves the game in which the row player gets payoffs(i, j). Both strategies
// are optimal within Clp's tolerances of 1e-9. InvalidArgument for an empty
// matrix or an entry that is not finite; Internal if Clp does not report an
// optimum.
absl::StatusOr<MatrixGameSolution> SolveMatrixGame(
    const Eigen::MatrixXd& payoffs);

}  // namespace sortition
