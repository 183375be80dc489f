#pragma once
// How many groups there are, and who is in them.
#include <optional>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/aggregation/block_function.h"
#include "core/aggregation/cluster.h"
#include "core/base/progress_steps.h"
#include "sortition/config/v1/cluster.pb.h"

namespace sortition {

struct Grouping {
  Clustering
      clustering;  // The largest first, equal ones by their first vector.
  // d(x_i‖σ_c): of each vector (row) from each group's order; of a mean with
  // ties the mean over its orders.
  Eigen::MatrixXd divergences;
  // By vector: d from its group's order without it; 0 of a group of one.
  Eigen::VectorXd without;
  // By vector: the mean of d over all orders.
  Eigen::VectorXd by_chance;
  // d(x_i‖reversed order of x_i): of each vector, the most there can be. 0: its
  // scores are all equal where f looks.
  Eigen::VectorXd reversed;
  // By vector: the group beside its own that costs least, with the Euclidean
  // term; its own where there is no other.
  std::vector<uint32_t> next;
  std::optional<double> silhouette;  // Mean; none: all groups are of one.
};

struct GroupingChoice {
  Grouping grouping;
  std::vector<config::v1::ClusterReport::Trial> trials;  // By rising clusters.
};

// Mean over the vectors of (b - a) / max(a, b), a the cost in the own group, b
// the least in another: a simplified silhouette [Rousseeuw87]. 0 where both are
// 0, and for a group of one. Requires 2 columns; costs: vector × group.
double MeanSilhouette(const Eigen::MatrixXd& costs,
                      const std::vector<uint32_t>& cluster);

// Groups the rows of `vectors` for each of options.clusters (none: 2 .. 6,
// below the number of vectors; 2 of two), and takes the largest silhouette, the
// own group being that without the vector; of equal ones the fewest groups. Of
// the number taken, has the silhouette of the vectors with the scores of each
// block shuffled. InvalidArgument as Cluster().
absl::StatusOr<GroupingChoice> ChooseClusters(
    const ScoreMatrix& vectors, const BlockFunction& f,
    const config::v1::ClusterOptions& options,
    const StartProgress& start_progress = NoProgress);

}  // namespace sortition
