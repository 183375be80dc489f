#pragma once
// Recomputes how a decision came to its version and what its baseline had to
// say.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/hash.h"
#include "core/choices/baseline_choice.h"
#include "core/policies/linear_policy.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Returns the key that a version of the decision's model has for its draw.
Hash128 LoggedKey(const log::v1::Decision& decision, uint64_t version,
                  absl::string_view salt);

// Returns the plan that `baseline`, which must outlive it, was decided by.
BaselinePlan PlanOf(const log::v1::BaselineChoice& baseline);

// Returns what differs between the logged part of the baseline and `outcome`;
// nothing: they are the same.
std::optional<std::string> BaselineDifference(
    const log::v1::BaselineChoice& baseline, const BaselineOutcome& outcome);

// Returns the policy of a version of the decision's model, for its kind of
// action.
using FindPolicy =
    std::function<absl::StatusOr<std::shared_ptr<const LinearPolicy>>(
        uint64_t version)>;

// Recomputes the arm, its probability and the propensity of the mixture from
// the split that was logged. `draw` is the draw repeated, `plan` that of the
// baseline or null.
absl::StatusOr<std::optional<std::string>> ArmDifference(
    const log::v1::Decision& decision, const BaselinePlan* plan,
    const PolicyQuery& query, const Draw& draw, const FindPolicy& find,
    PolicyWorkspace* workspace);

}  // namespace sortition
