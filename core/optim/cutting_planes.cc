#include "core/optim/cutting_planes.h"

#include <algorithm>
#include <limits>

namespace sortition {
namespace {

// Least curvature of a pair, relative to the squared norm of a slope, for
// planes that differ by rounding only.
constexpr double kLeastCurvature = 1e-12;

// A pair of planes to move weight between.
struct Pair {
  Eigen::Index to;
  Eigen::Index from;
  double gain;  // First-order gain per weight of the steepest pair.
};

// Chooses the next pair. `rise` has the derivative of the bound with respect to
// each α. `to` is the plane with the largest; `from` is the plane, among those
// with weight, that gains most together with it in one unbounded step
// [FanChenLin05]. If planes are similar, this takes far fewer steps than the
// steepest pair.
Pair BestPair(const Eigen::VectorXd& rise, const Eigen::VectorXd& alpha,
              const Eigen::Ref<const Eigen::MatrixXd>& gram) {
  Pair pair{0, 0, 0};
  rise.maxCoeff(&pair.to);
  double most = -1;
  for (Eigen::Index t = 0; t < rise.size(); ++t) {
    if (!(alpha[t] > 0)) continue;
    const double gain = rise[pair.to] - rise[t];
    pair.gain = std::max(pair.gain, gain);
    const double curvature =
        gram(pair.to, pair.to) + gram(t, t) - 2 * gram(t, pair.to);
    const double second =
        gain * gain /
        std::max(curvature, kLeastCurvature * gram(pair.to, pair.to));
    if (second > most) {
      most = second;
      pair.from = t;
    }
  }
  return pair;
}

}  // namespace

CuttingPlanes::CuttingPlanes(Eigen::Index dimension, Eigen::Index capacity)
    : slopes_(dimension, capacity),
      offsets_(capacity),
      gram_(capacity, capacity),
      alpha_(Eigen::VectorXd::Zero(capacity)) {}

void CuttingPlanes::Add(double offset, const Eigen::VectorXd& slope) {
  offsets_[next_] = offset;
  slopes_.col(next_) = slope;
  alpha_[next_] = 0;
  num_planes_ = std::max(num_planes_, next_ + 1);
  const Eigen::VectorXd products =
      slopes_.leftCols(num_planes_).transpose() * slope;
  gram_.col(next_).head(num_planes_) = products;
  gram_.row(next_).head(num_planes_) = products.transpose();
  next_ = (next_ + 1) % offsets_.size();
}

Eigen::VectorXd CuttingPlanes::StartingWeights(const Eigen::VectorXd& offsets,
                                               double lambda) const {
  const auto gram = gram_.topLeftCorner(num_planes_, num_planes_);
  Eigen::Index best = 0;
  const double single =
      (offsets - gram.diagonal() / (2 * lambda)).maxCoeff(&best);
  Eigen::VectorXd last = alpha_.head(num_planes_);
  if (const double sum = last.sum(); sum > 0) {
    last /= sum;
    if (offsets.dot(last) - last.dot(gram * last) / (2 * lambda) > single) {
      return last;
    }
  }
  return Eigen::VectorXd::Unit(num_planes_, best);
}

CuttingPlanes::Bound CuttingPlanes::Maximise(double lambda, double tolerance,
                                             int max_steps) {
  if (num_planes_ == 0) {
    return {-std::numeric_limits<double>::infinity(),
            Eigen::VectorXd::Zero(slopes_.rows())};
  }
  return Solve(offsets_.head(num_planes_), lambda, tolerance, max_steps);
}

// Shifts the origin: a_t + g_t·θ = (a_t + g_t·centre) + g_t·(θ - centre).
CuttingPlanes::Bound CuttingPlanes::MaximiseAround(
    const Eigen::VectorXd& centre, double weight, double tolerance,
    int max_steps) {
  if (num_planes_ == 0) {
    return {-std::numeric_limits<double>::infinity(), centre};
  }
  Bound bound = Solve(offsets_.head(num_planes_) +
                          slopes_.leftCols(num_planes_).transpose() * centre,
                      weight, tolerance, max_steps);
  bound.point += centre;
  return bound;
}

double CuttingPlanes::ModelAt(const Eigen::VectorXd& theta) const {
  if (num_planes_ == 0) return -std::numeric_limits<double>::infinity();
  return (offsets_.head(num_planes_) +
          slopes_.leftCols(num_planes_).transpose() * theta)
      .maxCoeff();
}

CuttingPlanes::Bound CuttingPlanes::Solve(const Eigen::VectorXd& offsets,
                                          double lambda, double tolerance,
                                          int max_steps) {
  const auto gram = gram_.topLeftCorner(num_planes_, num_planes_);
  Eigen::VectorXd alpha = StartingWeights(offsets, lambda);
  Eigen::VectorXd rise = offsets - gram * alpha / lambda;
  for (int step = 0; step < max_steps; ++step) {
    const auto [to, from, steepest] = BestPair(rise, alpha, gram);
    if (!(steepest > tolerance)) break;
    const double gain = rise[to] - rise[from];
    const double curvature =
        (gram(to, to) + gram(from, from) - 2 * gram(to, from)) / lambda;
    const double moved =
        gain < curvature * alpha[from] ? gain / curvature : alpha[from];
    if (alpha[to] + moved == alpha[to]) break;
    alpha[to] += moved;
    alpha[from] -= moved;
    rise -= moved / lambda * (gram.col(to) - gram.col(from));
  }
  alpha /= alpha.sum();
  alpha_.head(num_planes_) = alpha;
  const Eigen::VectorXd slope = slopes_.leftCols(num_planes_) * alpha;
  return {offsets.dot(alpha) - slope.squaredNorm() / (2 * lambda),
          -slope / lambda};
}

}  // namespace sortition
