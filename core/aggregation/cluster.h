#pragma once
// Finds groups of score lists that order items alike [IyerBilmes13, sec. 4,
// "Clustering"]: k-means with a Lovász-Bregman divergence,
//   minimise Σ_i d(x_i‖σ_c(i)) + γ |x_i - μ_c(i)|²
// over assignments c and representatives (σ, μ) of the groups. The mean μ of a
// group and the order of μ minimise both terms (lemma 4.1).
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/aggregation/order.h"
#include "core/aggregation/submodular_function.h"

namespace sortition {

// One score list per row.
using ScoreMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct ClusterOptions {
  uint32_t clusters = 2;          // k, from 1 to the number of lists.
  double euclidean = 0;           // γ, finite, at least 0.
  uint32_t restarts = 10;         // At least 1; the best one is returned.
  uint32_t max_iterations = 100;  // In each restart; at least 1.
  uint64_t seed = 1;
};

struct Clustering {
  std::vector<uint32_t> cluster;  // The cluster of each list.
  std::vector<Order> orders;      // Of each cluster's mean; ties by item.
  ScoreMatrix means;              // One cluster per row.
  std::vector<uint32_t> sizes;    // The number of lists in each cluster.
  double objective = 0;           // The minimised sum over all lists.
  // The objective after every assignment and every update of the best restart;
  // never increases.
  std::vector<double> objectives;
  uint32_t iterations = 0;  // In the best restart.
  bool converged = false;   // No list moved in the last iteration.
};

// Runs `options.restarts` restarts and returns the best clustering. As in
// k-means++ [ArthurVassilvitskii07], each restart begins with representatives
// drawn from the lists, with probability proportional to the cost of each list
// given the representatives drawn so far. An empty cluster receives the list
// with the highest cost. `progress` (may be empty) is called with the number of
// each finished restart. Deterministic for a given seed. InvalidArgument if an
// option is out of range, if the lists do not have f.num_items() scores, or if
// a score is not finite.
absl::StatusOr<Clustering> Cluster(
    const ScoreMatrix& lists, const SubmodularFunction& f,
    const ClusterOptions& options,
    const std::function<void(uint32_t restart)>& progress);

}  // namespace sortition
