#pragma once
// The rewards of single ranks of a decision.
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "sidecar/join/join_records.h"
#include "sortition/config/v1/sidecar.pb.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Returns the rank of the candidate with this document_index: the rank at which
// `shown` (null: not reported) lists it, or else its rank in the action, unless
// something else was reported for that rank. Nullopt: it has none.
std::optional<uint32_t> RankOfCandidate(uint32_t index,
                                        const log::v1::Decision& decision,
                                        const log::v1::Shown* shown);

// Aggregates the feedback of a decision that names a rank, or the index of a
// candidate that has one, by rank. `decision` is serialised; it is parsed only
// if some feedback names an index. The result is ascending by rank.
std::vector<log::v1::RankReward> RankRewardsOf(
    const ClosedDecision& closed, absl::string_view decision,
    config::v1::JoinOptions::Aggregation aggregation);

}  // namespace sortition
