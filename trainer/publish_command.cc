// Implements the command that publishes an older model again.
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "trainer/publish.h"
#include "trainer/report.h"
#include "trainer/trainer_commands.h"

namespace sortition {

absl::Status RunPublish(const config::v1::PublishModelOptions& options,
                        const std::vector<std::string>&,
                        CommandOutput* output) {
  if (options.output() != "text" && options.output() != "json") {
    return absl::InvalidArgumentError(absl::StrCat(
        "output is '", options.output(), "', must be text or json"));
  }
  ASSIGN_OR_RETURN(const config::v1::PublishModelReport report,
                   PublishAgain(options));
  if (options.output() == "text") {
    output->out << FormatPublishReport(report);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::string json, ReportToJson(report));
  output->out << json;
  return absl::OkStatus();
}

}  // namespace sortition
