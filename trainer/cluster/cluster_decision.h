#pragma once
// One logged decision to score lists of its eligible candidates.
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/hash.h"
#include "core/data/candidates.h"
#include "sortition/log/v1/log.pb.h"
#include "trainer/cluster/cluster_data.h"
#include "trainer/tuples/left_out.h"

namespace sortition {

// What of a decision can be compared with others of the same key.
struct ComparableDecision {
  Candidates candidates;            // A view of the decision.
  std::vector<uint32_t> documents;  // Eligible; lists and queries: by id.
  Hash128 key;  // Of the number of sources, or of the set of ids.
};

// Fills `result` and returns nothing, or returns why the decision is left out.
std::optional<LeftOutReason> MakeComparable(const log::v1::Decision& decision,
                                            ClusterOf of,
                                            ComparableDecision* result);

// Scaled scores of the vectors that the decision has (kSources: parts of such),
// row-major, a row for each source or one for the query. Fills `rows` and
// returns nothing, or returns why the decision is left out.
std::optional<LeftOutReason> ScaleDecision(const log::v1::Decision& decision,
                                           const ComparableDecision& comparable,
                                           ClusterOf of, ScoreScale scale,
                                           std::vector<double>* rows);

}  // namespace sortition
