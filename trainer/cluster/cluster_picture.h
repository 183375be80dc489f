#pragma once
// The picture of the groups. On the left it shows all vectors on their first
// two principal components. On the right it shows the groups' orders beside
// each other or, for sources, how far each is from each group's order.
#include <string>

#include "core/aggregation/cluster_choice.h"
#include "sortition/config/v1/cluster.pb.h"
#include "trainer/cluster/cluster_data.h"

namespace sortition {

// What is drawn. Everything that it refers to must outlive the drawing.
struct ClusterPicture {
  const ClusterData& data;
  ClusterOf of = ClusterOf::kSources;
  const Grouping& grouping;
  const config::v1::ClusterReport& report;
};

// Returns an SVG document. If there are too many vectors, sources, groups or
// candidates to tell apart, it shows some of them and says so.
std::string DrawClusters(const ClusterPicture& picture);

}  // namespace sortition
