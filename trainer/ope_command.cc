// Implements the command that judges policies.
#include "core/base/status_macros.h"
#include "io/files.h"
#include "trainer/ope/ope.h"
#include "trainer/ope/ope_text.h"
#include "trainer/ope/page/ope_page.h"
#include "trainer/report.h"
#include "trainer/report_file.h"
#include "trainer/trainer_commands.h"

namespace sortition {

absl::Status RunOpe(const config::v1::OpeOptions& options,
                    const std::vector<std::string>&, CommandOutput* output) {
  RETURN_IF_ERROR(CheckWritable("report", options.report()));
  RETURN_IF_ERROR(CheckWritable("page", options.page()));
  ASSIGN_OR_RETURN(const config::v1::OpeReport report, Ope(options));
  if (options.output() == "json") {
    ASSIGN_OR_RETURN(const std::string json, ReportToJson(report));
    output->out << json;
  } else {
    output->out << FormatOpeReport(report);
  }
  RETURN_IF_ERROR(WriteReport(options.report(), report));
  if (options.page().empty()) return absl::OkStatus();
  return WriteFile(options.page(), OpePage(report));
}

}  // namespace sortition
