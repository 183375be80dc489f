#pragma once
// Converts a logged decision to score lists of its eligible candidates.
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/hash.h"
#include "core/data/candidates.h"
#include "sortition/log/v1/log.pb.h"
#include "trainer/cluster/cluster_data.h"
#include "trainer/tuples/scan/left_out.h"

namespace sortition {

// The part of a decision that can be compared with others of the same key.
struct ComparableDecision {
  Candidates candidates;            // A view of the decision.
  std::vector<uint32_t> documents;  // Eligible ones; by id, except for sources.
  Hash128 key;  // Hash of the number of sources, or of the set of ids.
};

// Fills in `result` and returns nothing, or returns why the decision is left
// out. With `needs_ids`, also parts of sources are left out without candidate
// ids.
std::optional<LeftOutReason> MakeComparable(const log::v1::Decision& decision,
                                            ClusterOf of, bool needs_ids,
                                            ComparableDecision* result);

// Writes the scaled scores of the decision's vectors (for kSources: of parts of
// vectors) to `rows`, row-major, with a row for each source or one for the
// query. Returns nothing, or why the decision is left out.
std::optional<LeftOutReason> ScaleDecision(const log::v1::Decision& decision,
                                           const ComparableDecision& comparable,
                                           ClusterOf of, ScoreScale scale,
                                           std::vector<double>* rows);

}  // namespace sortition
