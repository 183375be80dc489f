// Policies judged and learned from clicks, against known users: rankings.
//
// Queries of a LETOR set (or of the built-in world) have labels, and simulated
// users of papers click by them, so that what a policy earns is known exactly
// or by so many drawn orders that its error does not count.
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "bench/clicks/page_world.h"
#include "bench/clicks/parts.h"
#include "bench/support/clocks.h"
#include "bench/support/report.h"
#include "core/base/status_macros.h"

ABSL_FLAG(std::string, letor, "",
          "directory of MQ2008: S1.txt .. S5.txt, or Fold1 .. Fold5; empty: "
          "the built-in world");
ABSL_FLAG(std::string, parts, "gate,models,estimation,learning",
          "what is measured, comma-separated");
ABSL_FLAG(std::string, pictures, "", "directory for SVG files; empty: none");
ABSL_FLAG(int, threads, 2, "runs at once, in [1, 256]");
ABSL_FLAG(int, runs, 24, "logs for each RMSE, in [2, 10000]");
ABSL_FLAG(int, gate_runs, 40, "logs for the power of the gate, in [5, 10000]");
ABSL_FLAG(int, gate_sessions, 100000,
          "sessions of each of them, in [2000, 10000000]");
ABSL_FLAG(int, coverage_runs, 1000, "short logs of the gate, in [10, 1000000]");
ABSL_FLAG(int, worlds, 10, "worlds of each click model, in [1, 1000]");
ABSL_FLAG(int, folds, 2, "folds that objectives learn on, in [1, 5]");
ABSL_FLAG(int, safe_runs, 40, "logs that safe objectives get, in [2, 1000]");
ABSL_FLAG(bool, long, false,
          "logs of a million sessions for the RMSE, and all folds");

namespace sortition {
namespace {

using Part = std::function<absl::StatusOr<std::vector<Target>>()>;

absl::StatusOr<int> Checked(absl::string_view name, const absl::Flag<int>& flag,
                            int fewest, int most) {
  const int value = absl::GetFlag(flag);
  if (value >= fewest && value <= most) return value;
  return absl::InvalidArgumentError(absl::StrCat(
      "--", name, " is ", value, ", must be in [", fewest, ", ", most, "]"));
}

absl::StatusOr<ClicksBenchOptions> OptionsOfFlags() {
  ClicksBenchOptions options;
  options.pictures = absl::GetFlag(FLAGS_pictures);
  ASSIGN_OR_RETURN(options.threads, Checked("threads", FLAGS_threads, 1, 256));
  ASSIGN_OR_RETURN(options.runs, Checked("runs", FLAGS_runs, 2, 10000));
  ASSIGN_OR_RETURN(options.gate_runs,
                   Checked("gate_runs", FLAGS_gate_runs, 5, 10000));
  ASSIGN_OR_RETURN(
      options.gate_sessions,
      Checked("gate_sessions", FLAGS_gate_sessions, 2000, 10000000));
  ASSIGN_OR_RETURN(options.coverage_runs,
                   Checked("coverage_runs", FLAGS_coverage_runs, 10, 1000000));
  ASSIGN_OR_RETURN(options.worlds, Checked("worlds", FLAGS_worlds, 1, 1000));
  ASSIGN_OR_RETURN(options.folds, Checked("folds", FLAGS_folds, 1, 5));
  ASSIGN_OR_RETURN(options.safe_runs,
                   Checked("safe_runs", FLAGS_safe_runs, 2, 1000));
  options.sessions = {1000, 10000, 100000};
  if (absl::GetFlag(FLAGS_long)) {
    options.sessions.push_back(1000000);
    options.folds = kNumFolds;
  }
  return options;
}

absl::StatusOr<Report> Run() {
  ASSIGN_OR_RETURN(const ClicksBenchOptions options, OptionsOfFlags());
  ASSIGN_OR_RETURN(const LetorFolds folds,
                   ReadPages(absl::GetFlag(FLAGS_letor)));
  const LetorFold& first = folds.folds[0];
  const std::vector<std::pair<std::string, Part>> parts = {
      {"gate", [&] { return MeasureGate(first, options); }},
      {"models", [&] { return MeasureClickModels(options); }},
      {"estimation", [&] { return MeasureEstimation(first, options); }},
      {"learning", [&] { return MeasureLearning(folds, options); }}};
  std::set<std::string> wanted =
      absl::StrSplit(absl::GetFlag(FLAGS_parts), ',', absl::SkipEmpty());
  Report report;
  for (const auto& [name, measure] : parts) {
    if (wanted.erase(name) == 0) continue;
    const double wall = WallSeconds();
    const double cpu = ProcessCpuSeconds();
    ASSIGN_OR_RETURN(std::vector<Target> targets, measure());
    AppendTargets(std::move(targets), &report.targets);
    absl::PrintF("(%s: %.0f s, %.0f s of CPU)\n", name, WallSeconds() - wall,
                 ProcessCpuSeconds() - cpu);
  }
  if (!wanted.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--parts has ", *wanted.begin(),
                     ", must be of gate, models, estimation, learning"));
  }
  return report;
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Judges and learns policies of rankings from clicks of known users.",
      sortition::Run);
}
