#pragma once
// Lower bounds of J(θ) = λ/2 ‖θ‖² + (1/N) Σ_q R_q(θ), each R_q convex, from
// planes of each R_q by itself: tighter than planes of their mean
// (cutting_planes.h) after as many evaluations, since every query's planes may
// be mixed differently. For objectives whose evaluation is dear.
#include <vector>

#include "Eigen/Core"
#include "core/optim/cutting_planes.h"

namespace sortition {

// With R_q above every plane a_qt + g_qt·θ,
//   J(θ) >= max_α (1/N) Σ α_qt a_qt - ‖(1/N) Σ α_qt g_qt‖² / (2λ),
// α_q >= 0 of sum 1; any such α gives a bound. The planes do not depend on λ.
class QueryPlanes {
 public:
  // Keeps up to `capacity` planes of each query, two at least.
  QueryPlanes(size_t num_queries, Eigen::Index dimension,
              Eigen::Index capacity);

  // Queries may be added to at once, each by one caller. Where there is no room
  // the plane of least weight in the last Maximise() goes, the oldest of these.
  void Add(size_t query, double offset, const Eigen::VectorXd& slope);

  // Maximises over α query by query [LacosteJulienEtAl13], by moving weight
  // from the worst plane in use to the best [Platt98], from the last α found;
  // until the bound is known to be within `tolerance` of the best, or after
  // `max_passes`. -infinity while a query has no plane. Requires lambda > 0.
  CuttingPlanes::Bound Maximise(double lambda, double tolerance,
                                int max_passes);

 private:
  struct Planes {
    Eigen::MatrixXd slopes;  // dimension × capacity
    Eigen::VectorXd offsets;
    Eigen::VectorXd weights;  // α_q
    std::vector<int64_t> age;
    Eigen::Index count = 0;
    int64_t added = 0;
  };

  // Moves weight of one query; returns the first-order gain that was there.
  double Improve(double scale, Planes* planes, Eigen::VectorXd* point);

  const Eigen::Index dimension_;
  const Eigen::Index capacity_;
  std::vector<Planes> planes_;
  Eigen::VectorXd values_;  // Scratch.
};

}  // namespace sortition
