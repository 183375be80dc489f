#include "trainer/rollout/rollout_train.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "process/log.h"
#include "trainer/rollout/rollout.h"
#include "trainer/rollout/rollout_plan.h"

namespace sortition {
namespace {

using config::v1::RolloutPlan;
using config::v1::TrainOptions;

// Returns the plan with what `train` says of rewards.
RolloutPlan PlanOf(const TrainOptions& options) {
  RolloutPlan plan = options.plan();
  if (!plan.has_reward_min()) plan.set_reward_min(options.reward_min());
  if (!plan.has_reward_max()) plan.set_reward_max(options.reward_max());
  if (!plan.has_clamp_rewards()) {
    plan.set_clamp_rewards(options.clamp_rewards());
  }
  if (plan.rewards().empty() && plan.guardrails().empty()) {
    *plan.mutable_rewards() = options.rewards();
    *plan.mutable_guardrails() = options.guardrails();
    *plan.mutable_reward_ranges() = options.reward_ranges();
  }
  return plan;
}

}  // namespace

absl::Status ValidateTrainPlan(const TrainOptions& options) {
  if (!options.rollout()) return absl::OkStatus();
  return CompletePlan(PlanOf(options)).status();
}

absl::Status CheckTrainRollout(const TrainOptions& options) {
  if (!options.rollout()) return absl::OkStatus();
  RETURN_IF_ERROR(ValidateTrainPlan(options));
  return CheckNoRollout(options.model_store(), options.model());
}

absl::StatusOr<uint64_t> PublishWithRollout(
    const TrainOptions& options,
    absl::FunctionRef<absl::StatusOr<uint64_t>()> publish,
    std::string* sentence) {
  if (!options.rollout()) return publish();
  ASSIGN_OR_RETURN(const std::optional<HeldServing> held,
                   HoldServing(options.model_store(), options.model()));
  const absl::StatusOr<uint64_t> published = publish();
  if (!published.ok()) {
    if (held.has_value()) {
      const absl::Status released =
          ReleaseServing(options.model_store(), options.model(), *held);
      if (!released.ok()) {
        LogWarning("what serves stays pinned",
                   {{"error", std::string(released.message())}});
      }
    }
    return published.status();
  }
  const uint64_t version = *published;
  if (!held.has_value()) {
    *sentence = absl::StrCat("Version ", version,
                             " serves at once: there is none to compare it "
                             "with.");
    return version;
  }
  config::v1::RolloutOptions rollout;
  rollout.set_model_store(options.model_store());
  rollout.set_model(options.model());
  rollout.set_start(true);
  rollout.set_version(version);
  rollout.set_reason("the gate let it pass");
  *rollout.mutable_plan() = PlanOf(options);
  const auto started = StartRollout(rollout, held);
  if (!started.ok()) {
    return absl::Status(
        started.status().code(),
        absl::StrCat("version ", version,
                     " was published and does not serve, for version ",
                     held->stable_version,
                     " is pinned; its rollout did not begin: ",
                     started.status().message()));
  }
  *sentence = started->step().sentence();
  return version;
}

}  // namespace sortition
