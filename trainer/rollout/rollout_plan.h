#pragma once
// The options and the plan of a rollout, checked and completed.
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/counterfactual/sequential/arm_comparison.h"
#include "sortition/config/v1/rollout.pb.h"
#include "trainer/decision_files/named_files.h"

namespace sortition {

// A reward that must not fall by more than `allowed`, with its range and the
// file that has it.
struct RolloutLimit {
  std::string name;
  double allowed = 0;
  double min = 0;
  double max = 0;
  NamedFile file = {};
};

// Returns the plan with its default shares and margins. InvalidArgument, naming
// field, value and range, for one that cannot be followed.
absl::StatusOr<config::v1::RolloutPlan> CompletePlan(
    config::v1::RolloutPlan plan);

// Returns the guardrails. InvalidArgument also for one without a range, because
// bounds that change with the file would not hold, and for a reward without a
// guardrail.
absl::StatusOr<std::vector<RolloutLimit>> LimitsOf(
    const config::v1::RolloutPlan& plan);

// Usage error for options that contradict each other, InvalidArgument for a
// plan that cannot be followed.
absl::Status ValidateRolloutOptions(const config::v1::RolloutOptions& options);

// Returns the hypothesis that a stage must refute: the canary loses more than
// the margin a allows. It is about rewards scaled to [0, 1],
//   r = (R - min) / (max - min).
// An absolute margin, in units of the reward, is μ_c <= μ_s - a. With
// m = a / (max - min) this is
//   r_c - r_s + m <= 0.
// A relative margin is μ_c <= μ_s - a |μ_s|, which is linear for rewards of one
// sign. With g = a if min >= 0 and g = -a if max <= 0 it is
//   r_c - (1 - g) r_s + g min / (max - min) <= 0.
// Requires a complete plan.
ArmHypothesis StageHypothesis(const config::v1::RolloutPlan& plan, int stage);

// Returns the loss that a stage allows, in units of the reward, where the
// stable version earns `stable_mean`.
double AllowedLoss(const config::v1::RolloutPlan& plan, int stage,
                   double stable_mean);

// Convert a share to the number of places of a split, and back.
uint32_t PlacesOfShare(double share);
double ShareOfPlaces(uint32_t places);

}  // namespace sortition
