#pragma once
// The picture of the groups. Left: all vectors on their first two principal
// components. Right: of lists and queries the groups' orders beside each other,
// of sources how far each is from each group's order.
#include <string>

#include "core/aggregation/cluster_choice.h"
#include "sortition/config/v1/cluster.pb.h"
#include "trainer/cluster/cluster_data.h"

namespace sortition {

// What is drawn. All of it must outlive the drawing.
struct ClusterPicture {
  const ClusterData& data;
  ClusterOf of = ClusterOf::kSources;
  const Grouping& grouping;
  const config::v1::ClusterReport& report;
};

// Returns an SVG document. Where there are too many vectors, sources, groups or
// candidates to tell apart, it shows some of them and says so.
std::string DrawClusters(const ClusterPicture& picture);

}  // namespace sortition
