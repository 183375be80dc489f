#include "trainer/rollout/rollout_text.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "process/text_table.h"

namespace sortition {
namespace {

using config::v1::RolloutLedger;
using config::v1::RolloutReport;
using config::v1::RolloutStep;
using model::v1::Rollout;

std::string MovementText(const Rollout& rollout, RolloutAction action) {
  const auto stage = static_cast<int>(rollout.stage());
  const std::string share = ShareText(rollout.plan().shares(stage));
  const bool is_last = stage + 1 == rollout.plan().shares_size();
  switch (action) {
    case RolloutAction::kMoveOn:
      return absl::StrCat(
          "moves on from ", share, " to ",
          ShareText(is_last ? 1 : rollout.plan().shares(stage + 1)));
    case RolloutAction::kGoBack:
      return absl::StrCat("goes back from ", share, " to 0 %");
    case RolloutAction::kWait:
      break;
  }
  return absl::StrCat("waits at ", share);
}

std::string RewardText(const Rollout& rollout, const RolloutStep& numbers) {
  if (numbers.decisions() == 0) return "no unit has been judged yet";
  const double base = std::abs(numbers.stable().mean());
  return absl::StrFormat(
      "it earns %.4g %s than version %d, which earns %.4g (%s%.0f %% interval "
      "%+.4g to %+.4g), by %d units in %d decisions",
      std::abs(numbers.difference()),
      numbers.difference() < 0 ? "less" : "more", rollout.stable_version(),
      numbers.stable().mean(),
      base > 0
          ? absl::StrFormat("%+.3g %%, ", 100 * numbers.difference() / base)
          : "",
      100 * numbers.confidence(), numbers.lower(), numbers.upper(),
      numbers.canary().units() + numbers.stable().units(), numbers.decisions());
}

std::string WorseText(const RolloutStep& numbers) {
  return absl::StrFormat("the evidence that it earns less is %.3g of %.3g",
                         numbers.evidence_worse(),
                         numbers.evidence_worse_needed());
}

// Returns the margin of the stage in words, in units of the reward if the mean
// reward of the stable version is known.
std::string MarginText(const Rollout& rollout, const RolloutStep& numbers) {
  const config::v1::RolloutPlan& plan = rollout.plan();
  const auto stage = static_cast<int>(rollout.stage());
  const bool is_relative = plan.absolute_margins().empty();
  const std::string share =
      is_relative ? absl::StrFormat("%g %%", 100 * plan.margins(stage)) : "";
  if (numbers.decisions() == 0) {
    return absl::StrCat(
        "at most ",
        is_relative ? share
                    : absl::StrFormat("%.4g", plan.absolute_margins(stage)),
        " less");
  }
  const double stable = numbers.stable().mean();
  return absl::StrFormat(
      "at least %.4g, at most %.4g less%s,", stable - numbers.allowed_loss(),
      numbers.allowed_loss(),
      is_relative
          ? absl::StrFormat(stable < 0 ? " (%s of |%.4g|)" : " (%s of %.4g)",
                            share, stable)
          : "");
}

std::string NextText(const Rollout& rollout, const RolloutStep& numbers) {
  return absl::StrFormat("the evidence that it earns %s is %.3g of %.3g",
                         MarginText(rollout, numbers), numbers.evidence_next(),
                         numbers.evidence_next_needed());
}

// Returns sentences about rounds and tuples that do not count; may be empty.
std::string LackText(const RolloutLedger& ledger) {
  std::string text;
  if (ledger.rewards_outside() > 0) {
    absl::StrAppend(&text, "; ", ledger.rewards_outside(),
                    " rewards are outside of plan.reward_min and "
                    "plan.reward_max and count as the nearer one");
  }
  if (ledger.gone() > 0) {
    absl::StrAppend(&text, "; ", ledger.gone(),
                    " units do not count because their tuples were removed "
                    "before their window ended");
  }
  for (const config::v1::RolloutGuardrailRounds& guardrail :
       ledger.guardrails()) {
    if (guardrail.gone() == 0) continue;
    absl::StrAppend(&text, "; ", guardrail.gone(),
                    " units do not count for guardrail ", guardrail.reward(),
                    " because their tuples were removed before its outcomes "
                    "were known");
  }
  if (ledger.has_retention_seconds()) {
    absl::StrAppend(&text, "; keep tuples (keep_tuples_seconds) for ",
                    ledger.retention_seconds(),
                    " s and the time between two steps together");
  }
  if (ledger.unknown_decisions() > 0) {
    absl::StrAppend(
        &text, "; ", ledger.unknown_decisions(),
        " decisions do not count because ", ledger.gap(),
        ", so their units may not be new: if this rollout does not end, stop "
        "it and begin a new one");
  }
  if (ledger.future_decisions() > 0) {
    absl::StrAppend(&text, "; ", ledger.future_decisions(),
                    " decisions are more than an hour in the future and do not "
                    "count yet: set the clocks of the servers");
  }
  return text;
}

std::string WaitText(const Rollout& rollout, const RolloutStep& numbers) {
  std::string text =
      absl::StrCat(NextText(rollout, numbers), ", ", WorseText(numbers));
  if (numbers.decisions() == 0) return text;
  if (!numbers.has_decisions_needed()) {
    return absl::StrCat(text, "; were the estimate right, neither would come");
  }
  absl::StrAppendFormat(
      &text, "; were the estimate right, some %.2g more decisions would do",
      std::max(numbers.decisions_needed(), 1.0));
  return text;
}

}  // namespace

std::string ShareText(double share) {
  return absl::StrFormat("%.4g %%", 100 * share);
}

std::string VerdictSentence(const Rollout& rollout,
                            const RolloutVerdict& verdict,
                            const RolloutStep& numbers,
                            const RolloutLedger& ledger, bool asks_servers) {
  std::string text = absl::StrCat("Version ", rollout.canary_version(), " ",
                                  MovementText(rollout, verdict.action), ": ");
  if (!verdict.problems.empty()) {
    absl::StrAppend(&text, "ATTENTION: ", verdict.problems, "; ");
  }
  if (!verdict.reason.empty()) {
    absl::StrAppend(&text, verdict.reason, "; ");
  }
  absl::StrAppend(&text, RewardText(rollout, numbers));
  const bool by_reward = verdict.reason.empty();
  if (verdict.action == RolloutAction::kWait && by_reward) {
    absl::StrAppend(&text, "; ", WaitText(rollout, numbers));
  } else if (verdict.action == RolloutAction::kMoveOn) {
    absl::StrAppend(&text, "; ", NextText(rollout, numbers));
  } else if (by_reward) {
    absl::StrAppend(&text, "; ", WorseText(numbers));
  }
  if (!numbers.canary().has_answers() || !numbers.stable().has_answers()) {
    absl::StrAppend(&text, asks_servers
                               ? "; in this stage the servers have not counted "
                                 "answers of both yet"
                               : "; errors and times are not compared");
  }
  absl::StrAppend(&text, LackText(ledger));
  return absl::StrCat(text, ".");
}

std::string FormatRolloutReport(const RolloutReport& report) {
  std::string text;
  if (report.history_size() > 0) {
    std::vector<std::vector<std::string>> rows = {
        {"time", "step", "share", "change", "what"}};
    for (const RolloutStep& step : report.history()) {
      rows.push_back({step.time(), step.action(), ShareText(step.share()),
                      step.has_change() ? absl::StrCat(step.change()) : "",
                      step.sentence()});
    }
    absl::StrAppend(&text, FormatTable(rows));
  }
  if (report.dry_run()) absl::StrAppend(&text, "Dry run: nothing changes.\n");
  if (report.has_step()) absl::StrAppend(&text, report.step().sentence(), "\n");
  if (!report.has_ledger()) return text;
  const RolloutLedger& ledger = report.ledger();
  absl::StrAppend(&text, "Ledger: ", ledger.rounds(), " units; ",
                  ledger.closed() - ledger.censored() - ledger.gone(),
                  " judged, ", ledger.open(), " open, ", ledger.censored(),
                  " censored, ", ledger.gone(), " removed too early.\n");
  if (ledger.waiting_decisions() > 0) {
    absl::StrAppend(&text, ledger.waiting_decisions(),
                    " decisions wait for the tuples of ", ledger.waits_for(),
                    ", which are behind those of the other directories.\n");
  }
  if (ledger.cut_bytes() > 0) {
    absl::StrAppend(&text, "Cut off ", ledger.cut_bytes(),
                    " bytes of an interrupted write from the ledger; no step "
                    "had acted upon them.\n");
  }
  if (ledger.torn_bytes() > 0) {
    absl::StrAppend(&text, "The ledger ends with ", ledger.torn_bytes(),
                    " bytes that are not complete yet: a step is writing them, "
                    "or the next one cuts them off.\n");
  }
  return text;
}

}  // namespace sortition
