// Implements the commands on labelled queries, and `describe`.
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "io/datasets/label_file_options.h"
#include "trainer/describe.h"
#include "trainer/labelled/evaluate_orders.h"
#include "trainer/labelled/fit.h"
#include "trainer/labelled/order_report.h"
#include "trainer/report.h"
#include "trainer/trainer_commands.h"

namespace sortition {

absl::Status RunEvaluate(const config::v1::EvaluateOptions& options,
                         const std::vector<std::string>&,
                         CommandOutput* output) {
  ASSIGN_OR_RETURN(const config::v1::EvaluateReport report,
                   EvaluateOrders(options));
  if (options.output() == "json") {
    ASSIGN_OR_RETURN(const std::string json, ReportToJson(report));
    output->out << json;
  } else {
    output->out << FormatOrderReport(report);
  }
  return absl::OkStatus();
}

absl::Status RunFit(const config::v1::FitOptions& options,
                    const std::vector<std::string>&, CommandOutput* output) {
  ASSIGN_OR_RETURN(const FitReport report, Fit(options));
  output->out << absl::StrFormat(
      "%s version %d: logistic regression on %d queries, %d candidates (%d "
      "relevant), %d features; %d Newton steps%s\n",
      options.model(), report.version, report.queries, report.candidates,
      report.relevant, report.num_features, report.iterations,
      report.converged ? "" : ", not converged");
  config::v1::TrainReport drafted;
  if (!report.drafted_features.empty()) {
    drafted.set_drafted_features(report.drafted_features);
  }
  output->out << FormatFeatures(drafted);
  if (report.extreme_values > 0) {
    output->out << "  "
                << ExtremeValuesNote(options.label_files(), options.data(),
                                     report.extreme_values)
                << "\n";
  }
  if (report.queries_left_out > 0) {
    output->out << absl::StrFormat(
        "  %d of the %d labelled queries were left out by "
        "--max_queries=%d; 0 uses all\n",
        report.queries_left_out, report.queries + report.queries_left_out,
        options.max_queries());
  }
  return absl::OkStatus();
}

absl::Status RunDescribe(const config::v1::DescribeOptions& options,
                         const std::vector<std::string>&,
                         CommandOutput* output) {
  ASSIGN_OR_RETURN(const std::string text, DescribeVersion(options));
  output->out << text;
  return absl::OkStatus();
}

}  // namespace sortition
