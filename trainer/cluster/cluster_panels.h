#pragma once
// The charts that the picture of groups is made of, and what to say below them.
#include <cstddef>
#include <string>

#include "process/drawing/bump_chart.h"
#include "process/drawing/heat_map.h"
#include "process/drawing/scatter_plot.h"
#include "trainer/cluster/cluster_picture.h"

namespace sortition {

// If there are more vectors, a sample of this many is drawn.
inline constexpr size_t kMostPoints = 3000;

// Returns the vectors and the groups' means, projected on the first two
// principal components.
ScatterPlot ScatterOfVectors(const ClusterPicture& picture);

// Returns the divergence of each source from each group's order, as a share of
// its divergence from its own order reversed. For its own group, the order is
// that of the other members. There is no share if the denominator is 0 or the
// own group has no other members.
HeatMap DivergenceOfSources(const ClusterPicture& picture);
// Returns two lines of text.
std::string DescribeHeatMap(const ClusterPicture& picture);

// Returns the groups' orders of the candidates that rank highest in any of
// them.
BumpChart OrdersOfGroups(const ClusterPicture& picture);
std::string DescribeOrders(const ClusterPicture& picture);

}  // namespace sortition
