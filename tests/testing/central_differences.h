#pragma once
// Gradients by central differences, to compare analytic ones with.
#include "Eigen/Core"
#include "core/optim/objective.h"

namespace sortition {

// Differs from the gradient by about 1e-10 if values and derivatives are of
// order 1: truncation is of order step² = 1e-10, rounding of order 1e-16 / step
// = 1e-11.
inline Eigen::VectorXd CentralDifferences(const Objective& objective,
                                          const Eigen::VectorXd& point) {
  constexpr double kStep = 1e-5;
  Eigen::VectorXd differences(point.size());
  for (Eigen::Index j = 0; j < point.size(); ++j) {
    Eigen::VectorXd above = point;
    Eigen::VectorXd below = point;
    above[j] += kStep;
    below[j] -= kStep;
    differences[j] = (objective.Evaluate(above, nullptr) -
                      objective.Evaluate(below, nullptr)) /
                     (2 * kStep);
  }
  return differences;
}

}  // namespace sortition
