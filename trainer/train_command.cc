#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "trainer/commands.h"
#include "trainer/report.h"
#include "trainer/report_file.h"
#include "trainer/train.h"
#include "trainer/trainer_commands.h"

namespace sortition {

absl::Status RunTrain(const config::v1::TrainOptions& options,
                      const std::vector<std::string>&, CommandOutput* output) {
  RETURN_IF_ERROR(CheckWritable("report", options.report()));
  ASSIGN_OR_RETURN(const config::v1::TrainReport report, Train(options));
  if (report.spilled_bytes() > 0) {
    output->out << absl::StrFormat(
        "Features beyond memory_mb: %d bytes in a scratch file in %s\n",
        report.spilled_bytes(), report.scratch());
  }
  output->out << FormatReport(report);
  RETURN_IF_ERROR(WriteReport(options.report(), report));
  if (!report.gate_passed() && !report.has_version()) {
    output->exit_code = kExitGateSaysNo;
  }
  return absl::OkStatus();
}

}  // namespace sortition
