#pragma once
// Solves the assignment problem as a linear program over doubly stochastic
// matrices (seed 001, sec. 17.4.3) by the simplex method (Clp).
#include "Eigen/Core"
#include "absl/status/statusor.h"

namespace sortition {

struct AssignmentLpSolution {
  // A basic solution: by Birkhoff's theorem a permutation matrix, up to Clp's
  // tolerances of 1e-10.
  Eigen::MatrixXd matrix;
  double cost = 0;  // Σ costs(i, j) round(matrix(i, j)).
};

// Solves min_B Σ costs(i, j) B(i, j), B >= 0 with rows and columns of sum 1.
// InvalidArgument for costs that are not square, empty or not finite; Internal
// if Clp does not report an optimum.
absl::StatusOr<AssignmentLpSolution> SolveAssignmentLp(
    const Eigen::MatrixXd& costs);

}  // namespace sortition
