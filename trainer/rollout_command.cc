// Implements the command that rolls a version out.
#include "absl/status/status.h"
#include "core/base/status_macros.h"
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

}  // namespace

absl::Status RunRollout(const RolloutOptions& options,
                        const std::vector<std::string>&,
                        CommandOutput* output) {
  RETURN_IF_ERROR(ValidateRolloutOptions(options));
  ASSIGN_OR_RETURN(const RolloutReport report, Run(options));
  if (options.output() == "json") {
    ASSIGN_OR_RETURN(const std::string json, ReportToJson(report));
    output->out << json;
  } else {
    output->out << FormatRolloutReport(report);
  }
  if (report.step().action() == "GO_BACK") {
    output->exit_code = kExitGateSaysNo;
  } else if (report.problems_size() > 0) {
    output->exit_code = kExitError;
  }
  return absl::OkStatus();
}

}  // namespace sortition
