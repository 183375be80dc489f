#pragma once
// The options and the plan of a rollout, checked and completed.
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sortition/config/v1/rollout.pb.h"

namespace sortition {

// A reward that must not fall by more than `allowed`, with its range.
struct RolloutLimit {
  std::string name;
  double allowed = 0;
  double min = 0;
  double max = 0;
};

// Returns the plan with its default shares and margins. InvalidArgument, naming
// field, value and range, for one that cannot be followed.
absl::StatusOr<config::v1::RolloutPlan> CompletePlan(
    config::v1::RolloutPlan plan);

// Returns the guardrails. InvalidArgument also for one without a range: bounds
// that change with the file would not hold.
absl::StatusOr<std::vector<RolloutLimit>> LimitsOf(
    const config::v1::RolloutPlan& plan);

// Usage error for options that contradict each other, InvalidArgument for a
// plan that cannot be followed.
absl::Status ValidateRolloutOptions(const config::v1::RolloutOptions& options);

// Returns how many of the places of a split a share is.
uint32_t PlacesOfShare(double share);

}  // namespace sortition
