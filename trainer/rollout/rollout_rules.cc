#include "trainer/rollout/rollout_rules.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace sortition {
namespace {

using config::v1::RolloutPlan;
using config::v1::RolloutStep;
using model::v1::Rollout;

constexpr double kUsPerSecond = 1e6;

bool Reached(const ArmEvidence& evidence, double needed) {
  return evidence.bets().MostLogEvidence() >= std::log(needed);
}

double EvidenceOf(const ArmEvidence& evidence) {
  // Larger numbers tell nobody more.
  constexpr double kMost = 1e9;
  return std::min(std::exp(evidence.bets().MostLogEvidence()), kMost);
}

std::string DurationText(double seconds) {
  constexpr double kDay = 86400;
  return seconds >= kDay ? absl::StrFormat("%.3g days", seconds / kDay)
                         : absl::StrFormat("%.3g s", seconds);
}

// Returns why a guardrail makes the canary go back; empty: none does.
std::string BrokenGuardrail(const RolloutEvidence& evidence, double needed) {
  for (size_t i = 1; i < evidence.num_outcomes(); ++i) {
    if (!Reached(evidence.Worse(i), needed)) continue;
    const RolloutLimit& limit = evidence.limits()[i - 1];
    return absl::StrFormat(
        "guardrail %s falls by %.4g, and %.4g is allowed (evidence %.3g of "
        "%.3g)",
        limit.name, -evidence.Of(i).DifferenceValue() * evidence.RangeOf(i),
        limit.allowed, EvidenceOf(evidence.Worse(i)), needed);
  }
  return "";
}

// Returns what the stage still lacks besides evidence of the reward; empty:
// nothing.
std::string StillMissing(const Rollout& rollout,
                         const RolloutEvidence& evidence,
                         double stage_seconds) {
  const RolloutPlan& plan = rollout.plan();
  const uint64_t decisions =
      evidence.StageDecisions(plan.shares(static_cast<int>(rollout.stage())));
  if (decisions < plan.min_decisions()) {
    return absl::StrCat("the stage has ", decisions, " decisions of at least ",
                        plan.min_decisions());
  }
  if (stage_seconds < plan.min_seconds()) {
    return absl::StrCat("the stage has lasted ", DurationText(stage_seconds),
                        " of at least ", DurationText(plan.min_seconds()));
  }
  const bool is_last =
      rollout.stage() + 1 == static_cast<uint32_t>(plan.shares_size());
  for (size_t i = 1; is_last && i < evidence.num_outcomes(); ++i) {
    if (Reached(evidence.Holds(i), MoveNeeded(plan))) continue;
    return absl::StrFormat(
        "guardrail %s is not yet sure to hold (evidence %.3g of %.3g)",
        evidence.limits()[i - 1].name, EvidenceOf(evidence.Holds(i)),
        MoveNeeded(plan));
  }
  return "";
}

// Returns of which outcome it depends on the arm whether it is known; empty: of
// none.
std::string CensoredByArm(const RolloutEvidence& evidence) {
  for (size_t i = 0; i < evidence.num_outcomes(); ++i) {
    const auto difference = evidence.Censoring(i).Difference();
    if (!difference.has_value()) continue;
    return absl::StrCat(
        i == 0 ? "the reward"
               : absl::StrCat("guardrail ", evidence.limits()[i - 1].name),
        " is ", *difference,
        ": these units do not count, so the others are no fair comparison; it "
        "does not move on before the causes are the same in both");
  }
  return "";
}

config::v1::RolloutArm ArmOf(uint64_t version, uint64_t units, double mean,
                             const model::v1::VersionCount* count) {
  config::v1::RolloutArm arm;
  arm.set_version(version);
  arm.set_units(units);
  arm.set_mean(mean);
  if (count == nullptr) return arm;
  arm.set_answers(static_cast<uint64_t>(count->answers()));
  arm.set_errors(static_cast<uint64_t>(count->errors()));
  arm.set_seconds(count->seconds());
  return arm;
}

void SetArms(const Rollout& rollout, const RolloutEvidence& evidence,
             RolloutStep* step) {
  const ArmComparison& reward = evidence.Of(0);
  const double range = evidence.RangeOf(0);
  const double least = evidence.LeastOf(0);
  const uint64_t canary = reward.num_canary_rounds();
  *step->mutable_canary() = ArmOf(
      rollout.canary_version(), canary, least + range * reward.CanaryMean(),
      rollout.has_canary() ? &rollout.canary() : nullptr);
  *step->mutable_stable() =
      ArmOf(rollout.stable_version(), reward.num_rounds() - canary,
            least + range * reward.StableMean(),
            rollout.has_stable() ? &rollout.stable() : nullptr);
  const Interval difference = reward.Difference(kRolloutConfidence);
  step->set_difference(range * difference.value);
  step->set_lower(range * difference.lower);
  step->set_upper(range * difference.upper);
  step->set_confidence(kRolloutConfidence);
  step->set_allowed_loss(AllowedLoss(rollout.plan(),
                                     static_cast<int>(rollout.stage()),
                                     step->stable().mean()));
}

void SetDecisionsNeeded(const Rollout& rollout, const RolloutEvidence& evidence,
                        RolloutStep* step) {
  const RolloutPlan& plan = rollout.plan();
  const ArmComparison& reward = evidence.Of(0);
  if (reward.num_rounds() == 0) return;
  const double q = plan.shares(static_cast<int>(rollout.stage()));
  const auto back = reward.RoundsNeeded(0, 1 / BackNeeded(plan), q);
  const auto move = reward.RoundsNeeded(
      RolloutEvidence::NextIndex(rollout.stage()), 1 / MoveNeeded(plan), q);
  if (!back.has_value() && !move.has_value()) return;
  const double rounds =
      std::min(back.value_or(HUGE_VAL), move.value_or(HUGE_VAL));
  step->set_decisions_needed(rounds *
                             static_cast<double>(evidence.num_decisions()) /
                             static_cast<double>(reward.num_rounds()));
}

}  // namespace

double BackNeeded(const RolloutPlan& plan) {
  return (1.0 + plan.guardrails_size()) / plan.back_error();
}

double MoveNeeded(const RolloutPlan& plan) { return 1 / plan.move_error(); }

RolloutVerdict JudgeRollout(const Rollout& rollout,
                            const RolloutEvidence& evidence,
                            const ServerFinding& servers, int64_t now_us) {
  const RolloutPlan& plan = rollout.plan();
  const auto seconds_since = [&](int64_t start_us) {
    return static_cast<double>(now_us - start_us) / kUsPerSecond;
  };
  if (servers.harm.has_value()) {
    return {RolloutAction::kGoBack, *servers.harm};
  }
  const double needed = BackNeeded(plan);
  if (Reached(evidence.Worse(0), needed)) return {RolloutAction::kGoBack, ""};
  if (std::string broken = BrokenGuardrail(evidence, needed); !broken.empty()) {
    return {RolloutAction::kGoBack, std::move(broken)};
  }
  if (plan.max_seconds() > 0 &&
      seconds_since(rollout.started_us()) >= plan.max_seconds()) {
    return {RolloutAction::kGoBack,
            absl::StrCat("nothing was decided in ",
                         DurationText(plan.max_seconds()))};
  }
  std::string censored = CensoredByArm(evidence);
  if (!censored.empty()) return {RolloutAction::kWait, std::move(censored)};
  if (!Reached(evidence.Next(rollout.stage()), MoveNeeded(plan))) return {};
  std::string missing = StillMissing(rollout, evidence,
                                     seconds_since(rollout.stage_started_us()));
  if (!missing.empty()) return {RolloutAction::kWait, std::move(missing)};
  return {RolloutAction::kMoveOn, ""};
}

RolloutVerdict WithProblems(RolloutVerdict verdict,
                            const std::vector<std::string>& problems) {
  verdict.problems = absl::StrJoin(problems, "; ");
  if (!problems.empty() && verdict.action == RolloutAction::kMoveOn) {
    verdict.action = RolloutAction::kWait;
    verdict.reason = "it does not move on before that is judged";
  }
  return verdict;
}

RolloutStep NumbersOf(const Rollout& rollout, const RolloutEvidence& evidence) {
  const RolloutPlan& plan = rollout.plan();
  RolloutStep step;
  SetArms(rollout, evidence, &step);
  step.set_decisions(evidence.num_decisions());
  step.set_stage_decisions(
      evidence.StageDecisions(plan.shares(static_cast<int>(rollout.stage()))));
  step.set_evidence_worse(EvidenceOf(evidence.Worse(0)));
  step.set_evidence_worse_needed(BackNeeded(plan));
  step.set_evidence_next(EvidenceOf(evidence.Next(rollout.stage())));
  step.set_evidence_next_needed(MoveNeeded(plan));
  SetDecisionsNeeded(rollout, evidence, &step);
  for (size_t i = 1; i < evidence.num_outcomes(); ++i) {
    config::v1::RolloutGuardrail& guardrail = *step.add_guardrails();
    guardrail.set_reward(evidence.limits()[i - 1].name);
    guardrail.set_allowed(evidence.limits()[i - 1].allowed);
    guardrail.set_difference(evidence.Of(i).DifferenceValue() *
                             evidence.RangeOf(i));
    guardrail.set_evidence_worse(EvidenceOf(evidence.Worse(i)));
    guardrail.set_evidence_holds(EvidenceOf(evidence.Holds(i)));
  }
  return step;
}

}  // namespace sortition
