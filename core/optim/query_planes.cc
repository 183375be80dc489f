#include "core/optim/query_planes.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"

namespace sortition {
namespace {

// Moves for a query in one pass. More moves would be undone by those of the
// next query.
constexpr int kMovesPerVisit = 4;

}  // namespace

QueryPlanes::QueryPlanes(size_t num_queries, Eigen::Index dimension,
                         Eigen::Index capacity)
    : dimension_(dimension), capacity_(capacity), planes_(num_queries) {
  CHECK(capacity >= 2);
  for (Planes& planes : planes_) {
    planes.slopes.resize(dimension, capacity);
    planes.offsets.resize(capacity);
    planes.weights = Eigen::VectorXd::Zero(capacity);
    planes.age.resize(capacity);
  }
}

void QueryPlanes::Add(size_t query, double offset,
                      const Eigen::VectorXd& slope) {
  Planes& planes = planes_[query];
  Eigen::Index t = planes.count;
  if (t < capacity_) {
    ++planes.count;
  } else {
    t = 0;
    for (Eigen::Index other = 1; other < capacity_; ++other) {
      if (planes.weights[other] < planes.weights[t] ||
          (planes.weights[other] == planes.weights[t] &&
           planes.age[other] < planes.age[t])) {
        t = other;
      }
    }
  }
  planes.offsets[t] = offset;
  planes.slopes.col(t) = slope;
  planes.age[t] = planes.added++;
  planes.weights[t] = 0;
  // Scales the weights of the remaining planes to sum 1.
  if (const double sum = planes.weights.sum(); sum > 0) {
    planes.weights /= sum;
  } else {
    planes.weights[t] = 1;
  }
}

// `point` is -Σ α g / (λ N), and `scale` is 1 / (λ N).
double QueryPlanes::Improve(double scale, Planes* planes,
                            Eigen::VectorXd* point) {
  const Eigen::Index n = planes->count;
  double first_gain = 0;
  for (int move = 0; move < kMovesPerVisit; ++move) {
    values_.head(n) = planes->offsets.head(n);
    values_.head(n).noalias() +=
        planes->slopes.leftCols(n).transpose() * *point;
    Eigen::Index to = 0;
    const double best = values_.head(n).maxCoeff(&to);
    if (move == 0) {
      first_gain = best - values_.head(n).dot(planes->weights.head(n));
    }
    Eigen::Index from = to;
    for (Eigen::Index t = 0; t < n; ++t) {
      if (planes->weights[t] > 0 && values_[t] < values_[from]) from = t;
    }
    const double gain = best - values_[from];
    if (!(gain > 0)) break;
    const auto difference = planes->slopes.col(to) - planes->slopes.col(from);
    const double curvature = scale * difference.squaredNorm();
    const double moved = std::min(planes->weights[from],
                                  gain < curvature ? gain / curvature : 1.0);
    planes->weights[to] += moved;
    planes->weights[from] -= moved;
    *point -= (scale * moved) * difference;
  }
  return first_gain;
}

CuttingPlanes::Bound QueryPlanes::Maximise(double lambda, double tolerance,
                                           int max_passes) {
  const auto n = static_cast<double>(planes_.size());
  values_.resize(capacity_);
  Eigen::VectorXd point = Eigen::VectorXd::Zero(dimension_);
  const auto set_point = [&] {
    point.setZero();
    for (const Planes& planes : planes_) {
      point.noalias() -= planes.slopes.leftCols(planes.count) *
                         planes.weights.head(planes.count);
    }
    point /= lambda * n;
  };
  for (const Planes& planes : planes_) {
    if (planes.count == 0) {
      return {-std::numeric_limits<double>::infinity(), point};
    }
  }
  set_point();
  // The sum of the gains bounds the distance from the maximum, apart from moves
  // within a pass.
  double gain = std::numeric_limits<double>::infinity();
  for (int pass = 0; pass < max_passes && gain / n > tolerance; ++pass) {
    gain = 0;
    for (Planes& planes : planes_) {
      gain += Improve(1 / (lambda * n), &planes, &point);
    }
  }
  set_point();  // Removes the rounding errors of many moves.
  double offset = 0;
  for (Planes& planes : planes_) {
    planes.weights /= planes.weights.sum();
    offset += planes.offsets.head(planes.count)
                  .dot(planes.weights.head(planes.count)) /
              n;
  }
  return {offset - lambda / 2 * point.squaredNorm(), point};
}

}  // namespace sortition
