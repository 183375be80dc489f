// Table 4 and figure 1 of the paper of prediction games, on LETOR queries.
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "bench/games_table4.h"

ABSL_FLAG(std::string, letor, "",
          "directory with S1.txt .. S5.txt, or Fold1 .. Fold5");
ABSL_FLAG(std::string, figure1, "", "write figure 1 as SVG to this file");
ABSL_FLAG(int, threads, 2, "folds at once");

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Ranks LETOR queries by prediction games and by other learners.");
  absl::ParseCommandLine(argc, argv);
  return sortition::PrintTargets(
      sortition::RunTable4({.letor = absl::GetFlag(FLAGS_letor),
                            .figure = absl::GetFlag(FLAGS_figure1),
                            .threads = absl::GetFlag(FLAGS_threads)}));
}
