// Implements the command that learns click models.
#include "core/base/status_macros.h"
#include "trainer/clicks/clicks.h"
#include "trainer/clicks/clicks_text.h"
#include "trainer/report.h"
#include "trainer/report_file.h"
#include "trainer/trainer_commands.h"

namespace sortition {

absl::Status RunClicks(const config::v1::ClicksOptions& options,
                       const std::vector<std::string>&, CommandOutput* output) {
  RETURN_IF_ERROR(CheckChoice("output", options.output(), {"text", "json"}));
  RETURN_IF_ERROR(CheckWritable("report", options.report()));
  RETURN_IF_ERROR(CheckWritable("write", options.write()));
  ASSIGN_OR_RETURN(const config::v1::ClicksReport report, LearnClicks(options));
  if (options.output() == "json") {
    ASSIGN_OR_RETURN(const std::string json, ReportToJson(report));
    output->out << json;
  } else {
    output->out << FormatClicksReport(report);
  }
  RETURN_IF_ERROR(WriteReport(options.report(), report));
  return WriteClickBias(options, report);
}

}  // namespace sortition
