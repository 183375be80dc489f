#pragma once
// Which decisions a shadow looks on at, and whether it can.
#include "absl/strings/string_view.h"
#include "core/policies/linear_policy.h"
#include "server/models/serving_set.h"

namespace sortition {

// Returns whether the shadow looks on at the decision: at one in `every`, by a
// hash of its own, which is independent of the draw, of the arm, of what the
// log keeps, and of other shadows. The salt is secret: no caller can choose an
// id for it.
bool LooksOn(const ServingSet::Shadow& shadow, absl::string_view decision_id);

// Returns the policy by which a version judges the query, whose top_k is that
// of the decision; null if it cannot: it has other features, does not answer
// such calls, or the subset is too large for its policy.
const LinearPolicy* JudgeOf(const ServedModel& model, ActionKind kind,
                            const PolicyQuery& query);

}  // namespace sortition
