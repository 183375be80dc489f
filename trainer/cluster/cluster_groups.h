#pragma once
// Describes the groups, how far they are apart, and what they disagree about.
#include "core/aggregation/block_function.h"
#include "core/aggregation/cluster_choice.h"
#include "sortition/config/v1/cluster.pb.h"
#include "trainer/cluster/cluster_data.h"

namespace sortition {

// Fills in groups, disputes, flat, vectors and items of the report. `f` has a
// block for each decision if sources are grouped, otherwise one block.
void DescribeGroups(const ClusterData& data, ClusterOf of,
                    const BlockFunction& f, const Grouping& grouping,
                    config::v1::ClusterReport* report);

}  // namespace sortition
