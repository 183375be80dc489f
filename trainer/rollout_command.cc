// Implements the command that rolls a version out.
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "trainer/report.h"
#include "trainer/rollout/rollout.h"
#include "trainer/rollout/rollout_text.h"
#include "trainer/trainer_commands.h"

namespace sortition {
namespace {

using config::v1::RolloutOptions;
using config::v1::RolloutReport;

absl::Status CheckOptions(const RolloutOptions& options) {
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
  return absl::OkStatus();
}

absl::StatusOr<RolloutReport> Run(const RolloutOptions& options) {
  if (options.start()) return StartRollout(options);
  if (options.stop()) return StopRollout(options);
  if (options.status()) return RolloutStatus(options);
  return StepRollout(options);
}

}  // namespace

absl::Status RunRollout(const RolloutOptions& options,
                        const std::vector<std::string>&,
                        CommandOutput* output) {
  RETURN_IF_ERROR(CheckOptions(options));
  ASSIGN_OR_RETURN(const RolloutReport report, Run(options));
  if (options.output() == "json") {
    ASSIGN_OR_RETURN(const std::string json, ReportToJson(report));
    output->out << json;
  } else {
    output->out << FormatRolloutReport(report);
  }
  if (report.step().action() == "GO_BACK") {
    output->exit_code = kExitGateSaysNo;
  }
  return absl::OkStatus();
}

}  // namespace sortition
