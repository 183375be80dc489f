// Errors of estimators, coverage of intervals and the gate, against known
// truth.
//
// Logs are drawn from data with labels and from simulated worlds, so that what
// a policy earns is known by enumeration.
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "bench/ope/parts.h"
#include "bench/support/clocks.h"
#include "bench/support/report.h"
#include "core/base/status_macros.h"

ABSL_FLAG(std::string, data, "",
          "directory with optdigits, scene, yeast and adult; what is not there "
          "is skipped");
ABSL_FLAG(std::string, parts, "estimators,coverage,gate,width,stream,mistakes",
          "what is measured, comma-separated");
ABSL_FLAG(bool, quick, false, "a tenth of the logs and of the stream");
ABSL_FLAG(int, replications, 100,
          "logs of each data set and temperature, in [2, 1000000]");
ABSL_FLAG(int, logs, 1000, "simulated logs of each world, in [10, 1000000]");

ABSL_FLAG(int, looking_logs, 200,
          "those of them that the gate looks at 96 times, in [10, 1000000]");

namespace sortition {
namespace {

using Part = std::function<absl::StatusOr<std::vector<Target>>()>;

absl::Status CheckCount(absl::string_view name, int value, int fewest) {
  constexpr int kMost = 1000000;
  if (value >= fewest && value <= kMost) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--", name, " is ", value, ", must be in [", fewest, ", ", kMost, "]"));
}

absl::StatusOr<OpeBenchOptions> OptionsOfFlags() {
  OpeBenchOptions options;
  options.data = absl::GetFlag(FLAGS_data);
  options.replications = absl::GetFlag(FLAGS_replications);
  options.logs = absl::GetFlag(FLAGS_logs);
  options.looking_logs = absl::GetFlag(FLAGS_looking_logs);
  RETURN_IF_ERROR(CheckCount("replications", options.replications, 2));
  RETURN_IF_ERROR(CheckCount("logs", options.logs, 10));
  RETURN_IF_ERROR(CheckCount("looking_logs", options.looking_logs, 10));
  if (absl::GetFlag(FLAGS_quick)) {
    options.replications = std::max(options.replications / 10, 2);
    options.logs = std::max(options.logs / 10, 10);
    options.looking_logs = std::max(options.looking_logs / 10, 10);
    options.decisions /= 10;
  }
  return options;
}

absl::StatusOr<Report> Run() {
  ASSIGN_OR_RETURN(const OpeBenchOptions options, OptionsOfFlags());
  const std::vector<std::pair<std::string, Part>> parts = {
      {"stream", [&] { return MeasureStream(options); }},
      {"estimators", [&] { return MeasureEstimators(options); }},
      {"coverage", [&] { return MeasureCoverage(options); }},
      {"gate", [&] { return MeasureFalsePasses(options); }},
      {"width", [&] { return MeasureWidth(options); }},
      {"mistakes", [&] { return MeasureMistakes(options); }}};
  std::set<std::string> wanted =
      absl::StrSplit(absl::GetFlag(FLAGS_parts), ',', absl::SkipEmpty());
  Report report;
  for (const auto& [name, measure] : parts) {
    if (wanted.erase(name) == 0) continue;
    const double start = ThreadCpuSeconds();
    ASSIGN_OR_RETURN(std::vector<Target> targets, measure());
    AppendTargets(std::move(targets), &report.targets);
    absl::PrintF("(%s: %.0f s of CPU)\n", name, ThreadCpuSeconds() - start);
  }
  if (!wanted.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--parts has ", *wanted.begin(),
        ", must be of estimators, coverage, gate, width, stream, mistakes"));
  }
  return report;
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Measures estimators, intervals and the gate on logs whose truth is "
      "known.",
      sortition::Run);
}
