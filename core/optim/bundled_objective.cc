#include "core/optim/bundled_objective.h"

#include <limits>

#include "core/base/check.h"

namespace sortition {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

BundledObjective::BundledObjective(Eigen::Index dimension,
                                   Eigen::Index capacity)
    : dimension_(dimension),
      planes_(dimension, capacity),
      best_value_(kInfinity) {}

void BundledObjective::SetLambda(double lambda) {
  CHECK(lambda > 0 && lambda < kInfinity);
  lambda_ = lambda;
  best_value_ = kInfinity;
}

CuttingPlanes::Bound BundledObjective::LowerBound(double tolerance,
                                                  int max_steps) const {
  return planes_.Maximise(lambda_, tolerance, max_steps);
}

void BundledObjective::RecordPlane(double offset,
                                   const Eigen::VectorXd& slope) const {
  ++evaluations_;
  planes_.Add(offset, slope);
}

void BundledObjective::RecordPoint(const Eigen::VectorXd& point,
                                   double risk) const {
  const double value = Penalty(point) + risk;
  if (!(value < best_value_)) return;
  best_value_ = value;
  best_point_ = point;
}

}  // namespace sortition
