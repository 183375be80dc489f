// Implements the command that removes old versions.
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "trainer/recorded_run.h"
#include "trainer/report.h"
#include "trainer/retention/prune.h"
#include "trainer/trainer_commands.h"

namespace sortition {

namespace {

absl::Status PruneAndPrint(const config::v1::PruneOptions& options,
                           CommandOutput* output, model::v1::TrainingRun* run) {
  ASSIGN_OR_RETURN(const config::v1::PruneReport report, Prune(options));
  run->set_verdict(absl::StrCat("Removed ", report.removed_size(), " of ",
                                report.removed_size() + report.kept_size(),
                                " versions."));
  run->set_damaged_records(report.corrupt_records());
  if (options.output() == "text") {
    output->out << FormatPruneReport(report);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::string json, ReportToJson(report));
  output->out << json;
  return absl::OkStatus();
}

}  // namespace

absl::Status RunPrune(const config::v1::PruneOptions& options,
                      const std::vector<std::string>&, CommandOutput* output) {
  if (options.output() != "text" && options.output() != "json") {
    return absl::InvalidArgumentError(absl::StrCat(
        "output is '", options.output(), "', must be text or json"));
  }
  model::v1::TrainingRun unrecorded;
  if (options.dry_run()) return PruneAndPrint(options, output, &unrecorded);
  return RunAndRecord({.kind = "prune",
                       .store = options.model_store(),
                       .model = options.model(),
                       .read = options.log(),
                       .may_create_folder = [] { return false; }},
                      output, [&](model::v1::TrainingRun* run) {
                        return PruneAndPrint(options, output, run);
                      });
}

}  // namespace sortition
