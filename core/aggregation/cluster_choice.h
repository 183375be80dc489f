#pragma once
// Chooses the number of groups and assigns each vector to a group.
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
  // The largest group comes first; ties are ordered by their first vector.
  Clustering clustering;
  // d(x_i‖σ_c) of each vector (row) from the order of each group (column). If
  // the group's mean has ties, this is the average over all orders of the mean.
  Eigen::MatrixXd divergences;
  // For each vector, d from the order of the mean of the other vectors in its
  // group; 0 in a group of one.
  Eigen::VectorXd without;
  // For each vector, the mean of d over all orders.
  Eigen::VectorXd by_chance;
  // For each vector, d(x_i‖reversed order of x_i), the largest possible value.
  // It is 0 if f does not tell any of the vector's scores apart.
  Eigen::VectorXd reversed;
  // For each vector, the group other than its own with the lowest cost, the
  // Euclidean term included; its own group if there is no other.
  std::vector<uint32_t> next;
  // The mean silhouette; not set if there is one group only or every group has
  // one vector.
  std::optional<double> silhouette;
};

struct GroupingChoice {
  Grouping grouping;
  // By number of clusters.
  std::vector<config::v1::ClusterReport::Trial> trials;
};

// Returns the mean over the vectors of (b - a) / max(a, b), a simplified
// silhouette [Rousseeuw87], where a is the cost of the vector in its own group
// and b the lowest cost in any other group. A vector counts as 0 if a = b = 0
// or if it is alone in its group. `costs` has one row for each vector and one
// column for each group; at least 2 columns are required.
double MeanSilhouette(const Eigen::MatrixXd& costs,
                      const std::vector<uint32_t>& cluster);

// Groups the rows of `vectors` into k groups for each k in options.clusters (if
// empty: from 2 to 6, but fewer than there are vectors, and 2 for two vectors).
// Returns the grouping with the largest silhouette, where the cost of a vector
// in its own group is measured without the vector itself; ties go to the fewest
// groups. The trial of the chosen k also has the silhouette of vectors whose
// scores were shuffled within each block. InvalidArgument for the reasons of
// Cluster().
absl::StatusOr<GroupingChoice> ChooseClusters(
    const ScoreMatrix& vectors, const BlockFunction& f,
    const config::v1::ClusterOptions& options,
    const StartProgress& start_progress = NoProgress);

}  // namespace sortition
