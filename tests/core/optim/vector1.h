#pragma once
#include "Eigen/Dense"

namespace sortition {

// The vector (x) of length 1.
inline Eigen::VectorXd Vector1(double x) {
  return Eigen::VectorXd::Constant(1, x);
}

}  // namespace sortition
