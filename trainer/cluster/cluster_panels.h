#pragma once
// The charts that the picture of groups is made of, and what to say below them.
#include <cstddef>
#include <string>

#include "process/drawing/bump_chart.h"
#include "process/drawing/heat_map.h"
#include "process/drawing/scatter_plot.h"
#include "trainer/cluster/cluster_picture.h"

namespace sortition {

// Vectors beyond this number are drawn as a sample.
inline constexpr size_t kMostPoints = 3000;

// Returns the vectors on their first two principal components, and the groups'
// means.
ScatterPlot ScatterOfVectors(const ClusterPicture& picture);

// Returns, for each source and group, the divergence of the source from the
// group's order, for the own group the order without the source, as a share of
// the divergence from the source's own order reversed. No share where that is 0
// or the own group has nobody else.
HeatMap DivergenceOfSources(const ClusterPicture& picture);
// Returns two lines.
std::string DescribeHeatMap(const ClusterPicture& picture);

// Returns the groups' orders, of the candidates that are highest in any.
BumpChart OrdersOfGroups(const ClusterPicture& picture);
std::string DescribeOrders(const ClusterPicture& picture);

}  // namespace sortition
