// Implements the commands on logged tuples, except train.
#include "core/base/status_macros.h"
#include "trainer/cluster/cluster.h"
#include "trainer/cluster/cluster_report.h"
#include "trainer/exploration/calibrate.h"
#include "trainer/exploration/calibrate_report.h"
#include "trainer/report_file.h"
#include "trainer/trainer_commands.h"
#include "trainer/tuples/labels/convert.h"

namespace sortition {

absl::Status RunCalibrate(const config::v1::CalibrateOptions& options,
                          const std::vector<std::string>&,
                          CommandOutput* output) {
  RETURN_IF_ERROR(CheckWritable("report", options.report()));
  ASSIGN_OR_RETURN(const config::v1::CalibrateReport report,
                   Calibrate(options));
  output->out << FormatCalibration(report);
  RETURN_IF_ERROR(WriteReport(options.report(), report));
  return report.has_problem() ? absl::FailedPreconditionError(report.problem())
                              : absl::OkStatus();
}

absl::Status RunCluster(const config::v1::ClusterOptions& options,
                        const std::vector<std::string>&,
                        CommandOutput* output) {
  RETURN_IF_ERROR(CheckWritable("report", options.report()));
  RETURN_IF_ERROR(CheckWritable("picture", options.picture()));
  RETURN_IF_ERROR(CheckWritable("assignments", options.assignments()));
  ASSIGN_OR_RETURN(const config::v1::ClusterReport report,
                   ClusterTuples(options));
  output->out << FormatClusterReport(report);
  return WriteReport(options.report(), report);
}

absl::Status RunConvert(const config::v1::ConvertOptions& options,
                        const std::vector<std::string>&,
                        CommandOutput* output) {
  ASSIGN_OR_RETURN(const ConvertReport report, Convert(options));
  output->out << FormatConvertReport(options, report);
  return absl::OkStatus();
}

}  // namespace sortition
