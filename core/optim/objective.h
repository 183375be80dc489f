#pragma once
// A function of a vector that optimisers can minimise.
#include "Eigen/Core"

namespace sortition {

class Objective {
 public:
  virtual ~Objective() = default;

  virtual Eigen::Index dimension() const = 0;

  // Returns f(point) and, where `gradient` is not null, overwrites it with ∇f.
  // Requires point.size() == dimension().
  virtual double Evaluate(const Eigen::VectorXd& point,
                          Eigen::VectorXd* gradient) const = 0;
};

}  // namespace sortition
