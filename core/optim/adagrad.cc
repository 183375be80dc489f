#include "core/optim/adagrad.h"

#include "core/base/check.h"

namespace sortition {

AdaGrad::AdaGrad(Eigen::Index dimension, double step_size)
    : accumulator_(Eigen::ArrayXd::Ones(dimension)),
      direction_(dimension),
      step_size_(step_size) {
  CHECK(step_size > 0);
}

double AdaGrad::Step(const Eigen::VectorXd& gradient, Eigen::VectorXd* point) {
  DCHECK(gradient.size() == accumulator_.size());
  DCHECK(point->size() == accumulator_.size());
  accumulator_ += gradient.array().square();
  direction_ = gradient.array() / accumulator_.sqrt();
  *point -= step_size_ * direction_;
  return direction_.norm();
}

}  // namespace sortition
