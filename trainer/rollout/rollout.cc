#include "trainer/rollout/rollout.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/choices/traffic_split.h"
#include "io/clocks.h"
#include "io/models/model_store.h"
#include "io/models/newest_version.h"
#include "io/models/serving_state.h"
#include "process/log.h"
#include "trainer/rollout/rollout_file.h"
#include "trainer/rollout/rollout_ledger.h"
#include "trainer/rollout/rollout_log.h"
#include "trainer/rollout/rollout_plan.h"
#include "trainer/rollout/rollout_rules.h"
#include "trainer/rollout/rollout_text.h"
#include "trainer/rollout/server_counts.h"
#include "trainer/tuples/scan/time_range.h"

namespace sortition {
namespace {

using config::v1::RolloutOptions;
using config::v1::RolloutReport;
using config::v1::RolloutStep;
using model::v1::Rollout;
using model::v1::Serving;

double ShareOf(const Rollout& rollout) {
  switch (rollout.outcome()) {
    case Rollout::DONE:
      return 1;
    case Rollout::BACK:
      return 0;
    case Rollout::RUNNING:
    case Rollout::STOPPED:
      break;
  }
  return rollout.plan().shares(static_cast<int>(rollout.stage()));
}

RolloutStep NewStep(const std::string& action, std::string sentence) {
  RolloutStep step;
  step.set_time(UtcTimeText(NowUs()));
  step.set_action(action);
  step.set_sentence(std::move(sentence));
  return step;
}

// Says who changed what serves since the last change of the rollout.
std::string OthersText(const std::string& model_dir, const Rollout& rollout) {
  std::vector<std::string> changes;
  const auto history = ServingHistory(model_dir);
  if (history.ok()) {
    for (const Serving& state : *history) {
      if (state.change() <= rollout.change()) continue;
      changes.push_back(
          absl::StrCat("change ", state.change(), " at ", state.time(), " by ",
                       state.caller().empty() ? "nobody known" : state.caller(),
                       " (", state.reason(), ")"));
    }
  }
  return changes.empty() ? "SERVING.textproto was edited by hand"
                         : absl::StrJoin(changes, ", ");
}

// Ends the rollout, and leaves what serves.
void EndStopped(const std::string& sentence, Rollout* rollout,
                RolloutReport* report) {
  RolloutStep step = NewStep("STOP", sentence);
  step.set_share(ShareOf(*rollout));
  rollout->set_outcome(Rollout::STOPPED);
  AddStep(step, rollout);
  *report->mutable_step() = step;
}

// Takes over what an interrupted step has done. Returns false if somebody else
// changed what serves.
bool TakeUp(const Serving& serving, Rollout* rollout) {
  const std::optional<uint32_t> stage = StageOf(serving, *rollout);
  const bool is_own = serving.caller() == kRolloutCaller &&
                      serving.change() > rollout->change();
  if (stage.has_value() && (*stage == rollout->stage() || is_own)) {
    // Labels and shadows are of no concern.
    rollout->set_change(serving.change());
    if (*stage != rollout->stage()) {
      rollout->set_stage(*stage);
      rollout->set_stage_started_us(NowUs());
      BeginStageCounts(rollout);
    }
    return true;
  }
  if (!is_own || serving.split().arms_size() > 0) return false;
  if (serving.pinned_version() == rollout->stable_version()) {
    rollout->set_outcome(Rollout::BACK);
  } else if (serving.pinned_version() == rollout->canary_version() ||
             serving.pinned_version() == 0) {
    rollout->set_outcome(Rollout::DONE);
  } else {
    return false;
  }
  rollout->set_change(serving.change());
  return true;
}

std::string EndedText(const Rollout& rollout) {
  const std::string last =
      rollout.steps().empty() ? "" : rollout.steps().rbegin()->sentence();
  return absl::StrCat("No rollout is under way; the last one is ",
                      Rollout::Outcome_Name(rollout.outcome()), ". ", last);
}

// Counts what the servers did since they were asked last.
ServerFinding AskServers(const RolloutOptions& options, Rollout* rollout) {
  if (options.metrics().empty()) return {};
  const auto counts = FetchServerCounts(options.metrics(), options.model());
  if (!counts.ok()) {
    LogWarning("errors and times are not compared in this step",
               {{"error", std::string(counts.status().message())}});
    return {};
  }
  for (const auto& [server, versions] : *counts) {
    AddServerCounts(server, versions, rollout);
  }
  rollout->set_looks(rollout->looks() + 1);
  return JudgeServers(rollout->plan(), *rollout);
}

// Changes what serves as the rollout, which has moved already, wants it.
absl::Status Serve(const std::string& model_dir, const RolloutOptions& options,
                   const Rollout& before, const std::string& reason,
                   Rollout* after) {
  ASSIGN_OR_RETURN(
      const uint64_t newest,
      NewestVersion(options.model(), ModelStore(options.model_store())));
  const auto now =
      ChangeServing(model_dir, {reason, kRolloutCaller}, [&](Serving* state) {
        if (StageOf(*state, before) != before.stage()) {
          return absl::AbortedError(
              "somebody changed what serves at this moment; the next step "
              "looks at it again");
        }
        if (after->outcome() == Rollout::RUNNING) {
          return SetStage(*after, state);
        }
        state->clear_split();
        const bool is_done = after->outcome() == Rollout::DONE;
        const bool follows = is_done && after->pinned_before() == 0 &&
                             newest == after->canary_version();
        state->set_pinned_version(follows   ? 0
                                  : is_done ? after->canary_version()
                                            : after->stable_version());
        return absl::OkStatus();
      });
  RETURN_IF_ERROR(now.status());
  after->set_change(now->change());
  return absl::OkStatus();
}

// Moves the rollout itself.
void Advance(RolloutAction action, Rollout* rollout) {
  if (action == RolloutAction::kGoBack) {
    rollout->set_outcome(Rollout::BACK);
  } else if (rollout->stage() + 1 ==
             static_cast<uint32_t>(rollout->plan().shares_size())) {
    rollout->set_outcome(Rollout::DONE);
  } else {
    rollout->set_stage(rollout->stage() + 1);
    rollout->set_stage_started_us(NowUs());
    BeginStageCounts(rollout);
  }
}

std::string ActionName(RolloutAction action) {
  switch (action) {
    case RolloutAction::kMoveOn:
      return "MOVE_ON";
    case RolloutAction::kGoBack:
      return "GO_BACK";
    case RolloutAction::kWait:
      break;
  }
  return "WAIT";
}

// Judges a rollout that is as it was left, and lets what follows happen.
absl::Status Judge(const std::string& model_dir, const RolloutOptions& options,
                   Rollout* rollout, RolloutReport* report) {
  ASSIGN_OR_RETURN(RolloutReading reading,
                   ReadRolloutLog(options, model_dir, *rollout));
  if (!options.dry_run()) {
    RETURN_IF_ERROR(AppendToLedger(model_dir, reading.added, &reading.end));
    reading.counts.set_cut_bytes(reading.counts.torn_bytes());
    reading.counts.clear_torn_bytes();
    rollout->set_ledger_bytes(reading.end.bytes);
    // Before the step acts: damage up to here must not pass for a torn tail.
    RETURN_IF_ERROR(WriteRollout(model_dir, *rollout));
  }
  *report->mutable_ledger() = reading.counts;
  const RolloutEvidence& evidence = reading.evidence;
  const ServerFinding servers = AskServers(options, rollout);
  for (const std::string& problem : reading.problems) {
    LogWarning("not everything is judged in this step", {{"problem", problem}});
    report->add_problems(problem);
  }
  const RolloutVerdict verdict = WithProblems(
      JudgeRollout(*rollout, evidence, servers, NowUs()), reading.problems);
  RolloutStep step = NumbersOf(*rollout, evidence);
  step.set_time(UtcTimeText(NowUs()));
  step.set_action(ActionName(verdict.action));
  step.set_sentence(VerdictSentence(*rollout, verdict, step, reading.counts,
                                    !options.metrics().empty()));
  if (verdict.action != RolloutAction::kWait) {
    const Rollout before = *rollout;
    Advance(verdict.action, rollout);
    if (!options.dry_run()) {
      RETURN_IF_ERROR(
          Serve(model_dir, options, before, step.sentence(), rollout));
      step.set_change(rollout->change());
    }
  }
  step.set_share(ShareOf(*rollout));
  AddStep(step, rollout);
  *report->mutable_step() = step;
  return absl::OkStatus();
}

// Returns a report that says that there is no rollout.
RolloutReport NoRollout(const RolloutOptions& options) {
  RolloutReport report;
  report.set_model(options.model());
  report.set_outcome("NONE");
  *report.mutable_step() =
      NewStep("NONE", absl::StrCat("There has been no rollout of model '",
                                   options.model(), "'."));
  return report;
}

void FillState(const Rollout& rollout, RolloutReport* report) {
  report->set_canary_version(rollout.canary_version());
  report->set_stable_version(rollout.stable_version());
  report->set_outcome(Rollout::Outcome_Name(rollout.outcome()));
  report->set_share(ShareOf(rollout));
}

}  // namespace

std::string ModelDirectory(const std::string& model_store,
                           const std::string& model) {
  return absl::StrCat(model_store, "/", model);
}

RolloutReport ReportOf(const RolloutOptions& options, const Rollout& rollout) {
  RolloutReport report;
  report.set_model(options.model());
  report.set_dry_run(options.dry_run());
  FillState(rollout, &report);
  return report;
}

std::optional<uint32_t> StageOf(const Serving& serving,
                                const Rollout& rollout) {
  const model::v1::Split& split = serving.split();
  if (serving.pinned_version() != rollout.stable_version() ||
      split.salt() != rollout.salt() || split.arms_size() != 1 ||
      split.arms(0).version() != rollout.canary_version() ||
      (serving.mode() != model::v1::ONLINE &&
       serving.mode() != model::v1::EXPLORE_ABOVE_BASELINE)) {
    return std::nullopt;
  }
  for (int stage = 0; stage < rollout.plan().shares_size(); ++stage) {
    if (PlacesOf(split.arms(0)) ==
        PlacesOfShare(rollout.plan().shares(stage))) {
      return static_cast<uint32_t>(stage);
    }
  }
  return std::nullopt;
}

absl::Status SetStage(const Rollout& rollout, Serving* serving) {
  serving->set_pinned_version(rollout.stable_version());
  serving->mutable_split()->set_salt(rollout.salt());
  return AssignPlaces(
      {{rollout.canary_version(), PlacesOfShare(rollout.plan().shares(
                                      static_cast<int>(rollout.stage())))}},
      serving->mutable_split());
}

absl::StatusOr<RolloutReport> StepRollout(const RolloutOptions& options) {
  RETURN_IF_ERROR(ValidateModelName(options.model()));
  RETURN_IF_ERROR(CheckModelDirectory(options.model_store(), options.model()));
  const std::string model_dir =
      ModelDirectory(options.model_store(), options.model());
  ASSIGN_OR_RETURN(const RolloutLock lock, RolloutLock::Take(model_dir));
  ASSIGN_OR_RETURN(std::optional<Rollout> found, ReadRollout(model_dir));
  if (!found.has_value()) return NoRollout(options);
  Rollout& rollout = *found;
  RolloutReport report = ReportOf(options, rollout);
  if (rollout.outcome() != Rollout::RUNNING) {
    *report.mutable_step() = NewStep("NONE", EndedText(rollout));
    return report;
  }
  ASSIGN_OR_RETURN(const Serving serving, ReadServing(model_dir));
  if (!TakeUp(serving, &rollout)) {
    EndStopped(absl::StrCat("The rollout of version ", rollout.canary_version(),
                            " stops at ", ShareText(ShareOf(rollout)),
                            ", for somebody else changed what serves: ",
                            OthersText(model_dir, rollout), "."),
               &rollout, &report);
  } else if (rollout.outcome() != Rollout::RUNNING) {
    *report.mutable_step() = NewStep("NONE", EndedText(rollout));
  } else {
    RETURN_IF_ERROR(Judge(model_dir, options, &rollout, &report));
  }
  FillState(rollout, &report);
  if (!options.dry_run()) {
    RETURN_IF_ERROR(WriteRollout(model_dir, rollout));
  }
  return report;
}

absl::StatusOr<RolloutReport> StopRollout(const RolloutOptions& options) {
  RETURN_IF_ERROR(ValidateModelName(options.model()));
  RETURN_IF_ERROR(CheckModelDirectory(options.model_store(), options.model()));
  const std::string model_dir =
      ModelDirectory(options.model_store(), options.model());
  ASSIGN_OR_RETURN(const RolloutLock lock, RolloutLock::Take(model_dir));
  ASSIGN_OR_RETURN(std::optional<Rollout> rollout, ReadRollout(model_dir));
  if (!rollout.has_value() || rollout->outcome() != Rollout::RUNNING) {
    return absl::FailedPreconditionError(absl::StrCat(
        "no rollout of model '", options.model(), "' is under way"));
  }
  RolloutReport report = ReportOf(options, *rollout);
  EndStopped(
      absl::StrCat("The rollout of version ", rollout->canary_version(),
                   " was stopped at ", ShareText(ShareOf(*rollout)),
                   ", and what serves stays as it is: ", options.reason(), "."),
      &*rollout, &report);
  FillState(*rollout, &report);
  if (!options.dry_run()) {
    RETURN_IF_ERROR(WriteRollout(model_dir, *rollout));
  }
  return report;
}

absl::StatusOr<RolloutReport> RolloutStatus(const RolloutOptions& options) {
  RETURN_IF_ERROR(ValidateModelName(options.model()));
  const std::string model_dir =
      ModelDirectory(options.model_store(), options.model());
  ASSIGN_OR_RETURN(const std::optional<Rollout> rollout,
                   ReadRollout(model_dir));
  if (!rollout.has_value()) return NoRollout(options);
  RolloutReport report = ReportOf(options, *rollout);
  *report.mutable_history() = rollout->steps();
  const auto ledger = ReadRolloutLedger(model_dir, *rollout);
  if (ledger.ok()) {
    *report.mutable_ledger() = ledger->counts;
  } else {
    LogWarning("the ledger of the rollout cannot be read",
               {{"error", std::string(ledger.status().message())}});
  }
  return report;
}

}  // namespace sortition
