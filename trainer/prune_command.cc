// Implements the command that removes old versions.
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "trainer/report.h"
#include "trainer/retention/prune.h"
#include "trainer/trainer_commands.h"

namespace sortition {

absl::Status RunPrune(const config::v1::PruneOptions& options,
                      const std::vector<std::string>&, CommandOutput* output) {
  if (options.output() != "text" && options.output() != "json") {
    return absl::InvalidArgumentError(absl::StrCat(
        "output is '", options.output(), "', must be text or json"));
  }
  ASSIGN_OR_RETURN(const config::v1::PruneReport report, Prune(options));
  if (options.output() == "text") {
    output->out << FormatPruneReport(report);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::string json, ReportToJson(report));
  output->out << json;
  return absl::OkStatus();
}

}  // namespace sortition
