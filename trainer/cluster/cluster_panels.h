#pragma once
// The right half of the picture of groups.
#include <string>

#include "trainer/cluster/cluster_picture.h"
#include "trainer/cluster/svg.h"

namespace sortition {

struct Panel {
  double x;
  double y;
  double width;
  double height;
};

// Of sources (rows) and groups (columns): divergence from the group's order, of
// the own group without the source, as a share of that from the source's own
// order reversed; "-" where there is none. Returns two lines to say below.
std::string DrawHeatMap(const ClusterPicture& picture, const Panel& panel,
                        Svg* svg);

// The groups' orders beside each other, a line for each of the candidates that
// are highest in any. Returns what there is to say below it.
std::string DrawOrders(const ClusterPicture& picture, const Panel& panel,
                       Svg* svg);

}  // namespace sortition
