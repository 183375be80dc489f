#pragma once
// The reward of a decision and the rewards of its single ranks.
#include <cstdint>
#include <optional>

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

// Returns true if some feedback names a candidate by its index, so that its
// rank depends on the decision.
bool NamesCandidates(const ClosedDecision& closed);

// Aggregates the feedback of `closed` that counts (JoinOptions.repeats) into
// its reward and, ascending by rank, the rewards of its ranks. `decision` is
// serialised and has the action; if it is empty or cannot be read, feedback
// that names a candidate has no rank.
void SetRewards(absl::string_view decision,
                const config::v1::JoinOptions& options, ClosedDecision* closed);

}  // namespace sortition
