// Table 1 and figure 2 of the paper on loss-sensitive random fields.
//
// Prints the figures of [VolkovsLarochelleZemel11] beside ours.
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bench/papers/letor/letor_table.h"
#include "bench/support/report.h"
#include "core/base/status_macros.h"

ABSL_FLAG(std::string, letor, "",
          "directory of MQ2008: S1.txt .. S5.txt, or Fold1 .. Fold5");
ABSL_FLAG(std::string, mq2007, "", "directory of MQ2007, with the same files");
ABSL_FLAG(std::string, figures, "", "write figure 2 as SVG to this directory");
ABSL_FLAG(int, threads, 2, "methods and folds run at once");

namespace sortition {
namespace {

absl::StatusOr<std::vector<Target>> Run() {
  const std::string mq2008 = absl::GetFlag(FLAGS_letor);
  const std::string mq2007 = absl::GetFlag(FLAGS_mq2007);
  if (mq2008.empty() && mq2007.empty()) {
    return absl::InvalidArgumentError(
        "--letor or --mq2007 must name a directory of data");
  }
  std::vector<Target> targets;
  for (const bool newer : {true, false}) {
    const std::string& letor = newer ? mq2008 : mq2007;
    if (letor.empty()) continue;
    LetorTableOptions options{.name = newer ? "MQ2008" : "MQ2007",
                              .letor = letor,
                              .figure = absl::GetFlag(FLAGS_figures),
                              .threads = absl::GetFlag(FLAGS_threads),
                              .published = newer};
    if (!options.figure.empty()) {
      absl::StrAppend(&options.figure, "/figure2_", options.name, ".svg");
    }
    ASSIGN_OR_RETURN(std::vector<Target> more, RunLetorTable(options));
    AppendTargets(std::move(more), &targets);
  }
  return targets;
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Replicates table 1 and figure 2 of the paper on loss-sensitive training "
      "of random fields.",
      sortition::Run);
}
