#pragma once
// Table 3 of [WangXingAsifZiebart15]: precision at k and F-score of sets of
// items, on optdigits (ten problems) and Adult.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/support/report.h"

namespace sortition {

struct Table3Options {
  std::string optdigits;  // Directory; empty: skipped.
  std::string adult;
  bool precision = true;  // Upper half: precision at k.
  bool f1 = true;         // Lower half.
};

// Prints the table beside the paper's figures.
absl::StatusOr<std::vector<Target>> RunTable3(const Table3Options& options);

}  // namespace sortition
