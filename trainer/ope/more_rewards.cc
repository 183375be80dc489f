#include "trainer/ope/more_rewards.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "trainer/ope/ope_words.h"

namespace sortition {
namespace {

using config::v1::OpeEstimate;
using config::v1::OpePolicy;

// Returns true if the reward can be estimated.
bool CanEstimate(const NamedRewards& rewards) {
  return rewards.file.is_range_known() &&
         rewards.coverage.used() >= 2 + rewards.coverage.not_judged();
}

// Returns the estimate with intervals of the given kind; unset: with the best.
// Returns nothing but the name if the range is not known, or hardly a decision
// is judged.
OpeEstimate EstimateReward(const OpeReportTask& task, size_t i, size_t k,
                           std::optional<IntervalKind> interval) {
  const NamedRewards& rewards = task.rewards[i];
  OpeEstimate estimate;
  if (CanEstimate(rewards)) {
    const PolicySums& sums = task.judgement.rewards()[i];
    EstimateStyle style = task.style;
    style.reward_min = rewards.file.min();
    style.reward_max = rewards.file.max();
    style.interval = interval;
    const bool is_log = task.judgement.weights().is_log(k);
    const Estimator estimator = is_log ? Estimator{EstimatorKind::kIps}
                                       : DefaultEstimator(/*has_model=*/false);
    estimate = MakeAnswer(
        style, {.sums = sums, .policy = k, .estimator = estimator}, is_log);
  }
  estimate.set_estimator(rewards.name);
  return estimate;
}

// Returns how the reward changes; nothing if all that is known of it is that
// it can change. The interval is the best that is valid, whatever the options
// ask for: others may not charge for what the log can hardly judge.
std::optional<model::v1::Estimate> ChangeOf(const OpeReportTask& task, size_t i,
                                            size_t k) {
  const NamedRewards& rewards = task.rewards[i];
  if (CanEstimate(rewards)) {
    const OpeEstimate estimate = EstimateReward(task, i, k, std::nullopt);
    if (!estimate.has_gain()) return std::nullopt;
    return estimate.gain();
  }
  if (!task.judgement.weights().is_log(k) || task.style.against) {
    return std::nullopt;
  }
  model::v1::Estimate none;
  none.set_confidence(task.style.confidence);
  none.set_value(0);
  none.set_lower(0);
  none.set_upper(0);
  return none;
}

bool IsGuarded(const OpeReportTask& task, const NamedRewards& rewards) {
  return std::any_of(
      task.limits.begin(), task.limits.end(),
      [&](const NamedLimit& limit) { return limit.name == rewards.name; });
}

}  // namespace

void AddMoreRewards(const OpeReportTask& task, size_t policy,
                    OpePolicy* stored) {
  for (size_t i = 0; i < task.rewards.size(); ++i) {
    const NamedRewards& rewards = task.rewards[i];
    *stored->add_more_rewards() =
        EstimateReward(task, i, policy, task.style.interval);
    if (task.style.against == policy) continue;
    for (const NamedLimit& limit : task.limits) {
      if (limit.name != rewards.name) continue;
      auto* const guardrail = stored->add_guardrails();
      guardrail->set_reward(limit.name);
      const auto change = ChangeOf(task, i, policy);
      if (change) *guardrail->mutable_change() = *change;
      guardrail->set_allowed(limit.allowed);
      guardrail->set_holds(change && change->lower() >= -limit.allowed);
    }
  }
}

std::vector<model::v1::Finding> RewardFindings(const OpeReportTask& task) {
  std::vector<model::v1::Finding> findings;
  for (const NamedRewards& rewards : task.rewards) {
    const RewardFile& file = rewards.file;
    if (file.is_range_given() || !IsGuarded(task, rewards)) continue;
    model::v1::Finding& finding = findings.emplace_back();
    finding.set_kind("reward_range");
    finding.set_gravity(model::v1::Finding::CAUTION);
    finding.set_part("log");
    finding.set_sentence(
        file.is_range_known()
            ? absl::StrCat("The guardrail takes '", rewards.name,
                           "' to be between ", Text(file.min()), " and ",
                           Text(file.max()), ", as in ", file.path(),
                           ". If it can be beyond, say so with "
                           "--reward_ranges=",
                           rewards.name, ":MIN:MAX.")
            : absl::StrCat(
                  "All rewards of ", file.path(),
                  " are 0: nothing is known of how far '", rewards.name,
                  "' can fall. Say it with --reward_ranges=", rewards.name,
                  ":MIN:MAX."));
  }
  return findings;
}

}  // namespace sortition
