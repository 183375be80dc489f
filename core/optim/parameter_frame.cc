#include "core/optim/parameter_frame.h"

#include <cmath>

#include "core/base/check.h"

namespace sortition {

Eigen::VectorXd ParameterFrame::Into(const Eigen::VectorXd& w) const {
  Eigen::VectorXd v = w;
  if (origin.size() > 0) v -= origin;
  if (scales.size() > 0) v.array() /= scales.array();
  return v;
}

Eigen::VectorXd ParameterFrame::From(const Eigen::VectorXd& v) const {
  Eigen::VectorXd w = v;
  if (scales.size() > 0) w.array() *= scales.array();
  if (origin.size() > 0) w += origin;
  return w;
}

double ParameterFrame::SquaredNorm(const Eigen::VectorXd& w) const {
  return is_trivial() ? w.squaredNorm() : Into(w).squaredNorm();
}

Eigen::VectorXd ScalesOf(const ColumnSums& sums) {
  CHECK(sums.squares.size() == sums.counts.size());
  Eigen::VectorXd scales = Eigen::VectorXd::Ones(sums.squares.size());
  const double values_per_row = sums.counts.sum() / sums.rows;
  for (Eigen::Index j = 0; j < scales.size(); ++j) {
    if (sums.squares[j] == 0) continue;
    scales[j] = std::sqrt(sums.counts[j] / sums.squares[j] / values_per_row);
  }
  return scales;
}

double FramedObjective::Evaluate(const Eigen::VectorXd& point,
                                 Eigen::VectorXd* gradient) const {
  const Eigen::VectorXd w = frame_->From(point);
  double value = task_.risk->Evaluate(w, gradient) / task_.unit +
                 task_.l2 * point.squaredNorm();
  if (gradient != nullptr) *gradient /= task_.unit;
  if (task_.pull != nullptr) {
    Eigen::VectorXd pull_gradient(w.size());
    value +=
        task_.pull_weight *
        task_.pull->Evaluate(w, gradient == nullptr ? nullptr : &pull_gradient);
    if (gradient != nullptr) *gradient += task_.pull_weight * pull_gradient;
  }
  if (gradient == nullptr) return value;
  if (frame_->scales.size() > 0) gradient->array() *= frame_->scales.array();
  *gradient += 2 * task_.l2 * point;
  return value;
}

}  // namespace sortition
