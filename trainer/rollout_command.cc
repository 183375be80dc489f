// Implements the command that rolls a version out.
#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "process/tracing/run_trace.h"
#include "trainer/recorded_run.h"
#include "trainer/report.h"
#include "trainer/rollout/rollout.h"
#include "trainer/rollout/rollout_plan.h"
#include "trainer/rollout/rollout_text.h"
#include "trainer/trainer_commands.h"

namespace sortition {
namespace {

using config::v1::RolloutOptions;
using config::v1::RolloutReport;

absl::StatusOr<RolloutReport> Run(const RolloutOptions& options) {
  if (options.start()) return StartRollout(options);
  if (options.stop()) return StopRollout(options);
  if (options.status()) return RolloutStatus(options);
  return StepRollout(options);
}

absl::Status RunAndPrint(const RolloutOptions& options, RunTrace* trace,
                         CommandOutput* output, model::v1::TrainingRun* run) {
  ASSIGN_OR_RETURN(const RolloutReport report, Run(options));
  trace->Set("sortition.canary_version",
             static_cast<int64_t>(report.canary_version()));
  trace->Set("sortition.outcome", report.outcome());
  trace->Set("sortition.share", report.share());
  if (report.has_step()) {
    trace->Set("sortition.action", report.step().action());
  }
  if (options.output() == "json") {
    ASSIGN_OR_RETURN(const std::string json, ReportToJson(report));
    output->out << json;
  } else {
    output->out << FormatRolloutReport(report);
  }
  run->set_verdict(report.problems_size() > 0
                       ? absl::StrJoin(report.problems(), " ")
                       : report.step().sentence());
  if (report.step().action() == "GO_BACK") {
    output->exit_code = kExitGateSaysNo;
  } else if (report.problems_size() > 0) {
    output->exit_code = kExitError;
  }
  return absl::OkStatus();
}

absl::Status RunTraced(const RolloutOptions& options, RunTrace* trace,
                       CommandOutput* output) {
  model::v1::TrainingRun unrecorded;
  if (options.status() || options.dry_run()) {
    return RunAndPrint(options, trace, output, &unrecorded);
  }
  return RunAndRecord({.kind = "rollout",
                       .store = options.model_store(),
                       .model = options.model(),
                       .read = options.tuples(),
                       .may_create_folder = [] { return false; }},
                      output, [&](model::v1::TrainingRun* run) {
                        return RunAndPrint(options, trace, output, run);
                      });
}

}  // namespace

absl::Status RunRollout(const RolloutOptions& options,
                        const std::vector<std::string>&,
                        CommandOutput* output) {
  RETURN_IF_ERROR(ValidateRolloutOptions(options));
  ASSIGN_OR_RETURN(
      RunTrace trace,
      RunTrace::Begin(options.tracing(), "sortition-trainer", "rollout"));
  trace.Set("sortition.model", options.model());
  const absl::Status status = RunTraced(options, &trace, output);
  trace.End(status);
  return status;
}

}  // namespace sortition
