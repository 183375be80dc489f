// Objectives of learning from bandit feedback over several data sets at once,
// and which of them one would choose for a set from all others: what the
// defaults of sortition-trainer rest on.
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "bench/papers/poem/label_sets.h"
#include "bench/papers/poem/objective_choice.h"
#include "bench/papers/poem/poem_runs.h"
#include "bench/papers/poem/selection_runs.h"
#include "bench/support/report.h"
#include "core/base/status_macros.h"

ABSL_FLAG(std::string, data, "",
          "directory with the folders scene, yeast, optdigits and adult; those "
          "that are absent are skipped");
ABSL_FLAG(int, runs, 5, "runs, each with its own logging policy and log");
ABSL_FLAG(int, replays, 4, "passes over the contexts");
ABSL_FLAG(double, temperature, 1, "alpha of h0, a factor of its scores");
ABSL_FLAG(int, threads, 2, "runs executed at once");
ABSL_FLAG(bool, only_selection, false,
          "only measure which point of its grid the trainer chooses");

namespace sortition {
namespace {

absl::StatusOr<std::vector<Target>> Run() {
  if (absl::GetFlag(FLAGS_data).empty()) {
    return absl::InvalidArgumentError(
        "data must be given: a directory with folders of data sets");
  }
  if (absl::GetFlag(FLAGS_runs) < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "runs is ", absl::GetFlag(FLAGS_runs), ", must be at least 2"));
  }
  ASSIGN_OR_RETURN(const std::vector<LabelSet> sets,
                   ReadLabelSets(absl::GetFlag(FLAGS_data)));
  const std::vector<Method> methods = ObjectivesToChooseFrom();
  std::vector<SetResults> all;
  std::vector<SelectionOfSet> selections;
  for (const LabelSet& set : sets) {
    const Repetition repetition{
        .runs = absl::GetFlag(FLAGS_runs),
        .threads = absl::GetFlag(FLAGS_threads),
        .fraction = 0.05,
        .inverse_temperature = absl::GetFlag(FLAGS_temperature),
        .replays = static_cast<uint32_t>(absl::GetFlag(FLAGS_replays))};
    ASSIGN_OR_RETURN(SelectionOfSet selection,
                     RunSelection(set.name, set.data, repetition));
    selections.push_back(std::move(selection));
    if (absl::GetFlag(FLAGS_only_selection)) continue;
    ASSIGN_OR_RETURN(Results results,
                     RunAll(set.data, repetition, methods, true));
    std::fputs(FormatTable(set.name, results).c_str(), stdout);
    std::fflush(stdout);
    all.push_back({set.name, std::move(results)});
  }
  if (selections.size() < 2) {
    return absl::NotFoundError(
        absl::StrCat("data is ", absl::GetFlag(FLAGS_data),
                     ", must have at least two of the folders scene, yeast, "
                     "optdigits and adult"));
  }
  std::fputs(FormatSelections(selections).c_str(), stdout);
  std::vector<Target> targets = SelectionTargets(selections);
  if (all.empty()) return targets;
  std::fputs(FormatShares(all).c_str(), stdout);
  const std::vector<LeftOut> choices = LeaveOneSetOut(all);
  std::fputs(FormatChoices(choices).c_str(), stdout);
  AppendTargets(ChoiceTargets(choices), &targets);
  return targets;
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Compares objectives of learning from bandit feedback over data sets.",
      sortition::Run);
}
