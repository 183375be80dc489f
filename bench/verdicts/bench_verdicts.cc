// Error rates of the verdicts of gate, ope, rollouts and training, where the
// truth is known
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bench/support/report.h"
#include "bench/verdicts/parts.h"
#include "core/base/status_macros.h"

ABSL_FLAG(std::string, parts,
          "arms,outcomes,rates,rollouts,selection,support,ties",
          "what is measured, comma-separated");
ABSL_FLAG(int, runs, 1000, "simulations of each setting, in [10, 1000000]");
ABSL_FLAG(int, threads, 2, "threads, in [1, 1000]");

namespace sortition {
namespace {

using Part = std::function<std::vector<Target>(const VerdictOptions&)>;

absl::Status CheckRange(absl::string_view name, int value, int min, int max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--", name, " is ", value, ", must be in [", min, ", ", max, "]"));
}

absl::StatusOr<Report> Run() {
  const VerdictOptions options = {.runs = absl::GetFlag(FLAGS_runs),
                                  .threads = absl::GetFlag(FLAGS_threads)};
  RETURN_IF_ERROR(CheckRange("runs", options.runs, 10, 1'000'000));
  RETURN_IF_ERROR(CheckRange("threads", options.threads, 1, 1000));
  const std::vector<std::pair<std::string, Part>> parts = {
      {"arms", MeasureArms},
      {"outcomes", MeasureOutcomes},
      {"rates", MeasureRates},
      {"rollouts", MeasureRollouts},
      {"selection", MeasureSelection},
      {"support", MeasureSupport},
      {"ties", MeasureTies}};
  std::set<std::string> wanted =
      absl::StrSplit(absl::GetFlag(FLAGS_parts), ',', absl::SkipEmpty());
  Report report;
  for (const auto& [name, measure] : parts) {
    if (wanted.erase(name) == 0) continue;
    AppendTargets(measure(options), &report.targets);
  }
  if (wanted.empty()) return report;
  return absl::InvalidArgumentError(
      absl::StrCat("--parts has ", *wanted.begin(),
                   ", must be of arms, outcomes, rates, rollouts, selection, "
                   "support, ties"));
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "How often the verdicts of gate, ope and rollouts are wrong, where the "
      "truth is known.",
      sortition::Run);
}
