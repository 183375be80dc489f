#pragma once
// Lower bounds of J(θ) = λ/2 ‖θ‖² + (1/N) Σ_q R_q(θ), each R_q convex, from
// separate planes of each R_q. After the same number of evaluations they are
// tighter than planes of the mean (cutting_planes.h), since the planes of every
// query can be combined differently. For objectives that are expensive to
// evaluate.
#include <vector>

#include "Eigen/Core"
#include "core/optim/cutting_planes.h"

namespace sortition {

// If R_q is above every plane a_qt + g_qt·θ, then
//   J(θ) >= max_α (1/N) Σ α_qt a_qt - ‖(1/N) Σ α_qt g_qt‖² / (2λ),
// where each α_q >= 0 has sum 1. Every such α gives a bound. The planes do not
// depend on λ.
class QueryPlanes {
 public:
  // Keeps up to `capacity` planes of each query; the capacity must be at least
  // 2.
  QueryPlanes(size_t num_queries, Eigen::Index dimension,
              Eigen::Index capacity);

  // Adds a plane of a query. Thread-safe for different queries. If there is no
  // room, it replaces the plane with the least weight in the last Maximise();
  // ties go to the oldest.
  void Add(size_t query, double offset, const Eigen::VectorXd& slope);

  // Maximises the bound over α, query by query [LacosteJulienEtAl13], by moving
  // weight from the worst plane in use to the best one [Platt98]. Starts at the
  // last α and ends when the bound is within `tolerance` of the best one, or
  // after `max_passes`. The value is -infinity while a query has no plane.
  // Requires lambda > 0.
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

  // Moves weight between the planes of one query. Returns the first-order gain
  // that was possible before.
  double Improve(double scale, Planes* planes, Eigen::VectorXd* point);

  const Eigen::Index dimension_;
  const Eigen::Index capacity_;
  std::vector<Planes> planes_;
  Eigen::VectorXd values_;  // Scratch space.
};

}  // namespace sortition
