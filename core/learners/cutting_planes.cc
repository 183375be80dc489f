#include "core/learners/cutting_planes.h"

#include <algorithm>
#include <limits>

namespace sortition {
namespace {

// The pair to move weight between.
struct Pair {
  Eigen::Index to;
  Eigen::Index from;
  double gain;  // By first order, per weight.
};

// `rise`: derivative of the bound by each α.
Pair BestPair(const Eigen::VectorXd& rise, const Eigen::VectorXd& alpha) {
  Pair pair{0, 0, 0};
  double least = std::numeric_limits<double>::infinity();
  rise.maxCoeff(&pair.to);
  for (Eigen::Index t = 0; t < rise.size(); ++t) {
    if (alpha[t] > 0 && rise[t] < least) {
      least = rise[t];
      pair.from = t;
    }
  }
  pair.gain = rise[pair.to] - least;
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

Eigen::VectorXd CuttingPlanes::StartingWeights(double lambda) const {
  const auto gram = gram_.topLeftCorner(num_planes_, num_planes_);
  const auto offsets = offsets_.head(num_planes_);
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
  const auto gram = gram_.topLeftCorner(num_planes_, num_planes_);
  const auto offsets = offsets_.head(num_planes_);
  Eigen::VectorXd alpha = StartingWeights(lambda);
  Eigen::VectorXd rise = offsets - gram * alpha / lambda;
  for (int step = 0; step < max_steps; ++step) {
    const auto [to, from, gain] = BestPair(rise, alpha);
    if (!(gain > tolerance)) break;
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
