// Tables 3 and 4 and figure 1 of the paper on prediction games.
//
// Prints the figures of [WangXingAsifZiebart15] beside ours. Tables 1 and 2 are
// tests.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "bench/papers/games/games_table3.h"
#include "bench/papers/games/games_table4.h"
#include "bench/support/report.h"
#include "core/base/status_macros.h"

ABSL_FLAG(std::string, optdigits, "",
          "table 3: directory of optdigits.tra and .tes");
ABSL_FLAG(std::string, adult, "", "table 3: directory of a3a and a3a.t");
ABSL_FLAG(bool, precision, true, "upper half of table 3: precision at k");
ABSL_FLAG(bool, f1, true, "lower half of table 3: F-score");
ABSL_FLAG(std::string, letor, "",
          "table 4: directory with S1.txt .. S5.txt, or Fold1 .. Fold5");
ABSL_FLAG(std::string, figure1, "", "write figure 1 as SVG to this file");
ABSL_FLAG(int, threads, 2, "table 4: methods and folds run at once");
ABSL_FLAG(bool, averaged, false,
          "table 4: also choose by each of four parts in turn, and average");
ABSL_FLAG(std::vector<std::string>, relevance_cuts,
          std::vector<std::string>({"0", "1"}),
          "table 4: a table for each; 0: labels as they are, 1 to 31: labels "
          "of at least that count as 1, others as 0");

namespace sortition {
namespace {

constexpr uint32_t kLargestCut = 31;

absl::StatusOr<std::vector<Target>> Run() {
  const Table3Options table3 = {.optdigits = absl::GetFlag(FLAGS_optdigits),
                                .adult = absl::GetFlag(FLAGS_adult),
                                .precision = absl::GetFlag(FLAGS_precision),
                                .f1 = absl::GetFlag(FLAGS_f1)};
  Table4Options table4 = {.letor = absl::GetFlag(FLAGS_letor),
                          .figure = absl::GetFlag(FLAGS_figure1),
                          .threads = absl::GetFlag(FLAGS_threads),
                          .averaged = absl::GetFlag(FLAGS_averaged)};
  const bool has_table3 = !table3.optdigits.empty() || !table3.adult.empty();
  if (!has_table3 && table4.letor.empty()) {
    return absl::InvalidArgumentError(
        "--optdigits, --adult or --letor must name a directory of data");
  }
  std::vector<Target> targets;
  if (has_table3) {
    ASSIGN_OR_RETURN(targets, RunTable3(table3));
  }
  if (table4.letor.empty()) return targets;
  for (const std::string& cut : absl::GetFlag(FLAGS_relevance_cuts)) {
    if (!absl::SimpleAtoi(cut, &table4.relevance_cut) ||
        table4.relevance_cut > kLargestCut) {
      return absl::InvalidArgumentError(
          absl::StrCat("--relevance_cuts has '", cut,
                       "', must be numbers within [0, ", kLargestCut, "]"));
    }
    ASSIGN_OR_RETURN(std::vector<Target> more, RunTable4(table4));
    AppendTargets(std::move(more), &targets);
    table4.figure.clear();  // Figure 1 is of the first.
  }
  return targets;
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv, "Replicates the tables of the paper on prediction games.",
      sortition::Run);
}
