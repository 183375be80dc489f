// Implements the beginning of a rollout.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/choices/traffic_split.h"
#include "io/clocks.h"
#include "io/models/draw_salt.h"
#include "io/models/model_store.h"
#include "io/models/newest_version.h"
#include "io/models/serving_state.h"
#include "process/command.h"
#include "process/log.h"
#include "trainer/rollout/rollout.h"
#include "trainer/rollout/rollout_file.h"
#include "trainer/rollout/rollout_ledger.h"
#include "trainer/rollout/rollout_plan.h"
#include "trainer/rollout/rollout_text.h"
#include "trainer/rollout/server_counts.h"
#include "trainer/tuples/scan/time_range.h"

namespace sortition {
namespace {

using config::v1::RolloutOptions;
using config::v1::RolloutReport;
using model::v1::Rollout;
using model::v1::Serving;

absl::Status CheckCanStart(const Serving& serving) {
  if (serving.split().arms_size() > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "traffic is split already, by change ", serving.change(),
        ": no rollout can begin before the split is removed (sortition models "
        "split none)"));
  }
  if (serving.has_interleave()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "version ", serving.interleave().version(),
        " is interleaved, by change ", serving.change(),
        ": no rollout can begin before that ends (sortition models interleave "
        "none)"));
  }
  if (serving.mode() != model::v1::ONLINE &&
      serving.mode() != model::v1::EXPLORE_ABOVE_BASELINE) {
    return absl::FailedPreconditionError(absl::StrCat(
        "mode is ", model::v1::LearningMode_Name(serving.mode()),
        ": must be ONLINE or EXPLORE_ABOVE_BASELINE; otherwise the versions "
        "decide nothing"));
  }
  return absl::OkStatus();
}

absl::Status CheckNotRunning(const std::string& model_dir) {
  ASSIGN_OR_RETURN(const std::optional<Rollout> before, ReadRollout(model_dir));
  // One without a step was interrupted while it began.
  if (!before.has_value() || before->outcome() != Rollout::RUNNING ||
      before->steps().empty()) {
    return absl::OkStatus();
  }
  return NotYetError(absl::StrCat(
      "a rollout of version ", before->canary_version(), " over ",
      before->stable_version(), " is under way since ",
      UtcTimeText(before->started_us()),
      ": wait until it ends, or end it with `sortition-trainer rollout "
      "--stop`"));
}

// Returns the version beside which the new one is to be tried.
absl::StatusOr<HeldServing> FindStable(const Serving& serving,
                                       const std::vector<uint64_t>& versions,
                                       uint64_t canary) {
  HeldServing held{.stable_version = serving.pinned_version(),
                   .pinned_before = serving.pinned_version()};
  if (held.pinned_before == 0) {
    // The newest serves; if that is the new one, the one before did.
    for (const uint64_t version : versions) {
      if (version != canary) held.stable_version = version;
    }
  }
  if (held.stable_version == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the store has no version besides ", canary,
                     ": there is nothing to compare it with"));
  }
  if (held.stable_version == canary) {
    return absl::FailedPreconditionError(absl::StrCat(
        "version = ", canary, ": is pinned, so it serves already"));
  }
  return held;
}

Rollout NewRollout(const RolloutOptions& options,
                   const config::v1::RolloutPlan& plan,
                   const HeldServing& held) {
  Rollout rollout;
  rollout.set_canary_version(options.version());
  rollout.set_stable_version(held.stable_version);
  rollout.set_pinned_before(held.pinned_before);
  *rollout.mutable_plan() = plan;
  rollout.set_outcome(Rollout::RUNNING);
  rollout.set_stage(0);
  rollout.set_salt(RandomDrawSalt());
  rollout.set_started_us(NowUs());
  rollout.set_stage_started_us(rollout.started_us());
  return rollout;
}

// Notes what the servers have counted before the rollout.
void NoteServers(const RolloutOptions& options, Rollout* rollout) {
  const auto counts = FetchServerCounts(options.metrics(), options.model());
  if (!counts.ok()) {
    LogWarning("errors and times are compared from the first step on",
               {{"error", std::string(counts.status().message())}});
    return;
  }
  for (const auto& [server, versions] : *counts) {
    AddServerCounts(server, versions, rollout);
  }
}

config::v1::RolloutStep StartStep(const RolloutOptions& options,
                                  const Rollout& rollout) {
  config::v1::RolloutStep step;
  step.set_time(UtcTimeText(rollout.started_us()));
  step.set_action("START");
  step.set_share(rollout.plan().shares(0));
  step.set_sentence(absl::StrCat(
      "Version ", rollout.canary_version(), " begins at ",
      ShareText(step.share()), ", beside version ", rollout.stable_version(),
      ", which is pinned",
      options.reason().empty() ? "" : absl::StrCat(": ", options.reason()),
      "."));
  return step;
}

absl::Status CheckStored(const RolloutOptions& options,
                         const std::vector<uint64_t>& versions) {
  if (std::find(versions.begin(), versions.end(), options.version()) ==
      versions.end()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "version = ", options.version(), ": must be a version of model '",
        options.model(), "' in the store, which has ", versions.size(),
        versions.empty() ? ""
                         : absl::StrCat(", from ", versions.front(), " to ",
                                        versions.back())));
  }
  // What servers would refuse must not get traffic.
  return ModelStore(options.model_store())
      .Load(options.model(), options.version())
      .status();
}

}  // namespace

absl::Status CheckModelDirectory(const std::string& model_store,
                                 const std::string& model) {
  const absl::StatusOr<std::vector<std::string>> models =
      ModelStore(model_store).ListModels();
  if (absl::IsNotFound(models.status())) {
    return absl::NotFoundError(
        absl::StrCat("model_store = \"", model_store,
                     "\": there is no such directory; it must be that into "
                     "which `sortition-trainer train` or `fit` publishes"));
  }
  RETURN_IF_ERROR(models.status());
  if (std::find(models->begin(), models->end(), model) != models->end()) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat(
      "model = \"", model, "\": must be a model of model_store = \"",
      model_store, "\", which has ",
      models->empty() ? "none" : absl::StrJoin(*models, ", "),
      "; a first version is published by `sortition-trainer train` or `fit`"));
}

absl::Status CheckNoRollout(const std::string& model_store,
                            const std::string& model) {
  return CheckNotRunning(ModelDirectory(model_store, model));
}

absl::StatusOr<std::optional<HeldServing>> HoldServing(
    const std::string& model_store, const std::string& model) {
  const std::string model_dir = ModelDirectory(model_store, model);
  RETURN_IF_ERROR(CheckNotRunning(model_dir));
  ASSIGN_OR_RETURN(const Serving serving, ReadServing(model_dir));
  RETURN_IF_ERROR(CheckCanStart(serving));
  HeldServing held{.stable_version = serving.pinned_version(),
                   .pinned_before = serving.pinned_version()};
  if (held.pinned_before > 0) return held;
  ASSIGN_OR_RETURN(held.stable_version,
                   NewestVersion(model, ModelStore(model_store)));
  if (held.stable_version == 0) return std::nullopt;
  const ChangeCause cause = {
      absl::StrCat("version ", held.stable_version,
                   " is held while the next one is published"),
      kRolloutCaller};
  const auto changed = ChangeServing(model_dir, cause, [&](Serving* state) {
    RETURN_IF_ERROR(CheckCanStart(*state));
    state->set_pinned_version(held.stable_version);
    return absl::OkStatus();
  });
  RETURN_IF_ERROR(changed.status());
  return held;
}

absl::Status ReleaseServing(const std::string& model_store,
                            const std::string& model, const HeldServing& held) {
  if (held.pinned_before > 0) return absl::OkStatus();
  const ChangeCause cause = {
      absl::StrCat("version ", held.stable_version,
                   " is no longer held, for the next one was not published"),
      kRolloutCaller};
  return ChangeServing(
             ModelDirectory(model_store, model), cause,
             [&](Serving* state) {
               if (state->pinned_version() != held.stable_version ||
                   state->caller() != kRolloutCaller) {
                 return absl::AbortedError("somebody else changed it");
               }
               state->clear_pinned_version();
               return absl::OkStatus();
             })
      .status();
}

absl::StatusOr<RolloutReport> StartRollout(
    const RolloutOptions& options, const std::optional<HeldServing>& held) {
  RETURN_IF_ERROR(ValidateModelName(options.model()));
  ASSIGN_OR_RETURN(const config::v1::RolloutPlan plan,
                   CompletePlan(options.plan()));
  RETURN_IF_ERROR(CheckModelDirectory(options.model_store(), options.model()));
  const std::string model_dir =
      ModelDirectory(options.model_store(), options.model());
  ASSIGN_OR_RETURN(
      const std::vector<uint64_t> versions,
      ModelStore(options.model_store()).ListVersions(options.model()));
  RETURN_IF_ERROR(CheckStored(options, versions));
  ASSIGN_OR_RETURN(const RolloutLock lock, RolloutLock::Take(model_dir));
  RETURN_IF_ERROR(CheckNotRunning(model_dir));
  ASSIGN_OR_RETURN(const Serving before, ReadServing(model_dir));
  RETURN_IF_ERROR(CheckCanStart(before));
  ASSIGN_OR_RETURN(HeldServing stable,
                   FindStable(before, versions, options.version()));
  if (held.has_value()) stable.pinned_before = held->pinned_before;
  Rollout rollout = NewRollout(options, plan, stable);
  config::v1::RolloutStep step = StartStep(options, rollout);
  RolloutReport report = ReportOf(options, rollout);
  if (!options.dry_run()) {
    NoteServers(options, &rollout);
    rollout.set_change(before.change());
    // Before and after: whoever finds it without a step knows that it may have
    // come no further.
    RETURN_IF_ERROR(WriteRollout(model_dir, rollout));
    RETURN_IF_ERROR(CreateLedger(model_dir, rollout));
    ASSIGN_OR_RETURN(const Serving now,
                     ChangeServing(model_dir, {step.sentence(), kRolloutCaller},
                                   [&](Serving* state) {
                                     RETURN_IF_ERROR(CheckCanStart(*state));
                                     return SetStage(rollout, state);
                                   }));
    rollout.set_change(now.change());
    step.set_change(now.change());
    AddStep(step, &rollout);
    RETURN_IF_ERROR(WriteRollout(model_dir, rollout));
  }
  *report.mutable_step() = step;
  return report;
}

}  // namespace sortition
