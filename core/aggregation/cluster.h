#pragma once
// Groups of score lists that order items alike [IyerBilmes13, sec. 4,
// "Clustering"]: k-means with a Lovász-Bregman divergence,
//   minimise Σ_i d(x_i‖σ_c(i)) + γ |x_i - μ_c(i)|²
// over assignments c and representatives. Of a group, its mean μ and the order
// of μ are best for both terms (lemma 4.1).
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/aggregation/order.h"
#include "core/aggregation/submodular_function.h"

namespace sortition {

// A list per row.
using ScoreMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct ClusterOptions {
  uint32_t clusters = 2;   // k, at least 1, at most as many as there are lists.
  double euclidean = 0;    // γ, finite, at least 0.
  uint32_t restarts = 10;  // At least 1; the best is taken.
  uint32_t max_iterations = 100;  // Of each, at least 1.
  uint64_t seed = 1;
};

struct Clustering {
  std::vector<uint32_t> cluster;  // By list.
  std::vector<Order> orders;      // By cluster: of the mean; ties by item.
  ScoreMatrix means;              // A cluster per row.
  std::vector<uint32_t> sizes;
  double objective = 0;  // The sum over lists.
  // After every assignment and every update of the best restart; never rises.
  std::vector<double> objectives;
  uint32_t iterations = 0;  // Of the best restart.
  bool converged = false;   // No list moved in the last one.
};

// Begins, k-means++ fashion [ArthurVassilvitskii07], with lists drawn in
// proportion to what they would cost with those drawn before. An empty cluster
// takes the list that costs most. `progress` (may be empty) is told the number
// of each finished restart. Deterministic for a seed. InvalidArgument for an
// option out of its range, a list of another size than f, or a score that is
// not finite.
absl::StatusOr<Clustering> Cluster(
    const ScoreMatrix& lists, const SubmodularFunction& f,
    const ClusterOptions& options,
    const std::function<void(uint32_t restart)>& progress);

}  // namespace sortition
