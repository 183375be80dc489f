#pragma once
// The groups drawn: left all vectors on their first two principal components;
// right, of lists and queries, the groups' orders beside each other, of sources
// how far each is from each group's order.
#include <string>

#include "core/aggregation/cluster_choice.h"
#include "sortition/config/v1/cluster.pb.h"
#include "trainer/cluster/cluster_data.h"

namespace sortition {

// What is drawn; all must outlive the drawing.
struct ClusterPicture {
  const ClusterData& data;
  ClusterOf of = ClusterOf::kSources;
  const Grouping& grouping;
  const config::v1::ClusterReport& report;
};

// An SVG document. Draws some of the vectors, sources, groups or candidates
// where there are too many to tell apart, and says so.
std::string DrawClusters(const ClusterPicture& picture);

}  // namespace sortition
