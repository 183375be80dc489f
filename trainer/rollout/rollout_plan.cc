#include "trainer/rollout/rollout_plan.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/choices/traffic_split.h"
#include "process/command.h"
#include "trainer/decision_files/named_files.h"

namespace sortition {
namespace {

using config::v1::RolloutPlan;

absl::Status CheckShares(const RolloutPlan& plan) {
  double before = 0;
  for (const double share : plan.shares()) {
    const double places = share * kSplitPlaces;
    constexpr double kRounding = 1e-6;
    if (!(share > before) || share >= 1 ||
        std::abs(places - std::round(places)) > kRounding) {
      return absl::InvalidArgumentError(absl::StrCat(
          "plan.shares has ", share, " after ", before,
          ": must ascend, in (0, 1), in steps of ", 1.0 / kSplitPlaces));
    }
    before = share;
  }
  return absl::OkStatus();
}

absl::Status CheckAbsoluteMargins(const RolloutPlan& plan) {
  const double range = plan.reward_max() - plan.reward_min();
  for (int stage = 0; stage < plan.absolute_margins_size(); ++stage) {
    const double margin = plan.absolute_margins(stage);
    if (margin >= 0 && margin < range) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "plan.absolute_margins has ", margin, " as entry ", stage + 1,
        ": must be in [0, ", range, "), where ", range,
        " is plan.reward_max - plan.reward_min, because no "
        "loss is larger; margins are in units of the reward, not per cent"));
  }
  return absl::OkStatus();
}

absl::Status CheckMargins(const RolloutPlan& plan) {
  if (plan.absolute_margins_size() > 0 && plan.margins_size() > 0) {
    return absl::InvalidArgumentError(
        "plan.margins and plan.absolute_margins are both given: must be one of "
        "them");
  }
  const bool is_absolute = plan.absolute_margins_size() > 0;
  const int entries =
      is_absolute ? plan.absolute_margins_size() : plan.margins_size();
  if (entries != plan.shares_size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "plan.", is_absolute ? "absolute_margins" : "margins", " has ", entries,
        " entries: must have one for each of the ", plan.shares_size(),
        " shares"));
  }
  if (is_absolute) return CheckAbsoluteMargins(plan);
  if (plan.reward_min() >= 0 || plan.reward_max() <= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "plan.margins is a share of what the stable version earns, which may be "
      "0 between plan.reward_min = ",
      plan.reward_min(), " and plan.reward_max = ", plan.reward_max(),
      ": give plan.absolute_margins instead, in units of the reward, one for "
      "each of the ",
      plan.shares_size(), " shares"));
}

// Returns the entry of that name; null: there is none.
template <typename Named>
const Named* FindNamed(const std::vector<Named>& entries,
                       const std::string& name) {
  const auto found =
      std::find_if(entries.begin(), entries.end(),
                   [&](const Named& each) { return each.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

absl::Status CheckAllGuarded(const std::vector<NamedFile>& files,
                             const std::vector<NamedLimit>& limits) {
  for (const NamedFile& file : files) {
    if (FindNamed(limits, file.name) != nullptr) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "plan.rewards has '", file.name,
        "', must be one of plan.guardrails, as ", file.name, ":0"));
  }
  return absl::OkStatus();
}

}  // namespace

uint32_t PlacesOfShare(double share) {
  return static_cast<uint32_t>(std::lround(share * kSplitPlaces));
}

double ShareOfPlaces(uint32_t places) {
  return static_cast<double>(places) / kSplitPlaces;
}

ArmHypothesis StageHypothesis(const RolloutPlan& plan, int stage) {
  const double range = plan.reward_max() - plan.reward_min();
  if (plan.absolute_margins_size() > 0) {
    return {.allowed = plan.absolute_margins(stage) / range};
  }
  const double margin =
      plan.reward_min() >= 0 ? plan.margins(stage) : -plan.margins(stage);
  return {.margin = margin, .allowed = margin * plan.reward_min() / range};
}

double AllowedLoss(const RolloutPlan& plan, int stage, double stable_mean) {
  return plan.absolute_margins_size() > 0
             ? plan.absolute_margins(stage)
             : plan.margins(stage) * std::abs(stable_mean);
}

absl::StatusOr<std::vector<RolloutLimit>> LimitsOf(const RolloutPlan& plan) {
  ASSIGN_OR_RETURN(const std::vector<NamedFile> files,
                   ParseNamedFiles("plan.rewards", plan.rewards()));
  ASSIGN_OR_RETURN(const std::vector<NamedLimit> limits,
                   ParseLimits("plan.guardrails", plan.guardrails(), files));
  ASSIGN_OR_RETURN(
      const std::vector<NamedRange> ranges,
      ParseRanges("plan.reward_ranges", plan.reward_ranges(), files));
  RETURN_IF_ERROR(CheckAllGuarded(files, limits));
  std::vector<RolloutLimit> complete;
  for (const NamedLimit& limit : limits) {
    const NamedRange* const range = FindNamed(ranges, limit.name);
    if (range == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "plan.reward_ranges lacks '", limit.name, "': must have it, as ",
          limit.name, ":MIN:MAX, for a guardrail of a rollout"));
    }
    if (limit.allowed > range->max - range->min) {
      return absl::InvalidArgumentError(absl::StrCat(
          "plan.guardrails has ", limit.name, ":", limit.allowed,
          ": must be at most ", range->max - range->min, ", its range"));
    }
    complete.push_back({limit.name, limit.allowed, range->min, range->max,
                        *FindNamed(files, limit.name)});
  }
  return complete;
}

absl::StatusOr<RolloutPlan> CompletePlan(RolloutPlan plan) {
  if (plan.shares().empty() && plan.margins().empty() &&
      plan.absolute_margins().empty()) {
    // A version that loses 5 % never comes beyond the second share; one that is
    // no worse passes all (bench/rollout).
    for (const double share : {0.01, 0.1, 0.5}) plan.add_shares(share);
    for (const double margin : {0.2, 0.03, 0.01}) plan.add_margins(margin);
  }
  if (plan.shares().empty()) {
    return absl::InvalidArgumentError(
        "plan.shares is empty: must be given with the margins");
  }
  RETURN_IF_ERROR(CheckShares(plan));
  if (!(plan.reward_min() < plan.reward_max())) {
    return absl::InvalidArgumentError(
        absl::StrCat("plan.reward_max = ", plan.reward_max(),
                     ": must be above reward_min = ", plan.reward_min()));
  }
  RETURN_IF_ERROR(CheckMargins(plan));
  RETURN_IF_ERROR(LimitsOf(plan).status());
  return plan;
}

absl::Status ValidateRolloutOptions(const config::v1::RolloutOptions& options) {
  RETURN_IF_ERROR(CheckChoice("output", options.output(), {"text", "json"}));
  if (options.start() + options.stop() + options.status() > 1) {
    return UsageError("start, stop, status: at most one of them may be given");
  }
  if (options.start() != (options.version() > 0)) {
    return UsageError(absl::StrCat("version is ", options.version(),
                                   ": must be given with start, and only "
                                   "there"));
  }
  if (options.stop() && options.reason().empty()) {
    return UsageError("reason is empty: must say why, with stop");
  }
  const bool is_step = !options.start() && !options.stop() && !options.status();
  if (is_step && options.tuples().empty()) {
    return UsageError("tuples is empty: must be given for a step");
  }
  return options.start() ? CompletePlan(options.plan()).status()
                         : absl::OkStatus();
}

}  // namespace sortition
