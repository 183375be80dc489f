#pragma once
// Reads the score lists of a log as vectors to be grouped.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/aggregation/aggregate.h"
#include "core/aggregation/cluster.h"
#include "core/aggregation/submodular_function.h"
#include "sortition/config/v1/cluster.pb.h"
#include "trainer/cluster/pair_file.h"
#include "trainer/tuples/scan/tuple_scan.h"

namespace sortition {

// What one vector is.
enum class ClusterOf {
  kSources,  // A source: its scores in all decisions, one after the other.
  kLists,    // The scores of one source in one decision.
  kQueries,  // The weighted mean of the scores in one decision.
};

struct ClusterData {
  struct DecisionInfo {
    std::string id;
    double reward = 0;
    uint32_t num_items = 0;  // Number of eligible candidates.
  };
  struct Origin {
    uint32_t decision = 0;  // Index in `decisions`.
    uint32_t source = 0;    // Source of the list.
  };

  ScoreMatrix vectors;  // A source, list or query per row; scaled list by list.
  std::vector<DecisionInfo> decisions;  // The decisions in use, by rising id.
  std::vector<Origin> origins;          // By row; empty for sources.
  std::vector<std::string> item_ids;    // By column, rising; empty for sources.
  std::vector<uint32_t> documents;  // For sources: document_index by column.
  // Those of the given pairs that are among the candidates: for sources by
  // decision, otherwise one entry; empty without pairs.
  std::vector<std::vector<CutFunction::Edge>> pairs;
  TupleCounts counts;
};

// Reads the tuples of `options.model`; only eligible candidates count. To group
// sources, uses the decisions with the most common number of sources; to group
// lists or queries, those with the most common set of candidate ids. Vectors do
// not depend on the order of the tuples. If they exceed memory_mb, halves the
// share of the decisions that is kept, by a threshold on a hash of the decision
// id (KeptShare). `pairs` may be null. NotFound if there is no such directory;
// FailedPrecondition if no decision is left.
absl::StatusOr<ClusterData> ReadClusterData(
    const config::v1::ClusterOptions& options, ClusterOf of, ScoreScale scale,
    CandidatePairs* pairs);

}  // namespace sortition
