// The tables of [WangXingAsifZiebart15], beside the paper's figures.
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bench/games_table3.h"
#include "bench/report.h"

ABSL_FLAG(std::string, part, "all", "all, or table3");
ABSL_FLAG(std::string, optdigits, "",
          "table 3: directory of optdigits.tra and .tes");
ABSL_FLAG(std::string, adult, "", "table 3: directory of a3a and a3a.t");
ABSL_FLAG(bool, precision, true, "table 3, above: precision at k");
ABSL_FLAG(bool, f1, true, "table 3, below: F-score");

namespace sortition {
namespace {

absl::StatusOr<std::vector<Target>> Run() {
  const std::string part = absl::GetFlag(FLAGS_part);
  if (part != "all" && part != "table3") {
    return absl::InvalidArgumentError(
        absl::StrCat("part is \"", part, "\", must be all or table3"));
  }
  return RunTable3({.optdigits = absl::GetFlag(FLAGS_optdigits),
                    .adult = absl::GetFlag(FLAGS_adult),
                    .precision = absl::GetFlag(FLAGS_precision),
                    .f1 = absl::GetFlag(FLAGS_f1)});
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Replicates the tables of the paper on prediction games.");
  absl::ParseCommandLine(argc, argv);
  return sortition::PrintTargets(sortition::Run());
}
