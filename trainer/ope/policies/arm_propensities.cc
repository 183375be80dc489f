#include "trainer/ope/policies/arm_propensities.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace sortition {

absl::StatusOr<ArmPropensities> ArmPropensities::Create(
    const config::v1::OpeOptions& options) {
  const std::string& arms = options.arms();
  if (arms != "auto" && arms != "balanced" && arms != "apart") {
    return absl::InvalidArgumentError(
        absl::StrCat("arms is '", arms, "', must be auto, balanced or apart"));
  }
  const bool reads_all = options.versions().empty();
  const bool draws_by_unit = options.units() == "new";
  if (arms == "balanced" && !reads_all) {
    return absl::InvalidArgumentError(absl::StrCat(
        "arms is 'balanced', must be apart or auto with versions, which is '",
        options.versions(),
        "': the propensity of a mixture is for decisions of all its arms"));
  }
  if (arms == "balanced" && !draws_by_unit) {
    return absl::InvalidArgumentError(
        "arms is 'balanced', must be apart or auto with units = same: the "
        "decisions of a unit have one arm together, and would count as "
        "independent draws");
  }
  return ArmPropensities(arms != "apart" && reads_all && draws_by_unit,
                         arms == "balanced");
}

double ArmPropensities::Of(const log::v1::Decision& decision,
                           double log_propensity, bool is_cut, ArmUse* use) {
  *use = ArmUse::kNoArm;
  if (!decision.has_arm()) return log_propensity;
  *use = ArmUse::kApart;
  if (!is_balanced_ || is_cut) return log_propensity;
  if (!is_balanced_by_unit_ && !decision.unit_id().empty()) {
    *use = ArmUse::kUnitKeepsArm;
    return log_propensity;
  }
  const log::v1::ArmChoice& arm = decision.arm();
  const double mixture = arm.mixture_log_propensity();
  const bool has_mixture =
      arm.has_mixture_log_propensity() && std::isfinite(mixture);
  if (!has_mixture || !without_mixture_.empty()) {
    arm.split().SerializeToString(&bytes_);
    absl::StrAppend(&bytes_, "/", arm.primary_version());
    if (!has_mixture) without_mixture_.insert(bytes_);
    if (without_mixture_.contains(bytes_)) {
      *use = ArmUse::kNoMixture;
      return log_propensity;
    }
  }
  *use = ArmUse::kBalanced;
  return std::min(mixture, 0.0);
}

}  // namespace sortition
