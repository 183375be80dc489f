#pragma once
// Reads the binary classification data of table 3 of [WangXingAsifZiebart15].
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/support/labelled_rows.h"

namespace sortition {

struct BinaryProblem {
  LabelledRows train;
  LabelledRows test;
};

// Reads ten problems, each digit against the rest, from optdigits.tra and
// optdigits.tes in `directory`: lines of 64 integers from 0 to 16 and the
// digit. Features are the integers divided by 16.
absl::StatusOr<std::vector<BinaryProblem>> ReadOptdigits(
    const std::string& directory);
// Reads a3a and a3a.t in `directory`, SVMlight with labels -1 and +1.
absl::StatusOr<BinaryProblem> ReadAdult(const std::string& directory);

// Holds out a random third of the items for validation; the others are for
// training.
struct HoldOut {
  LabelledRows train;
  LabelledRows validation;
};
HoldOut HoldOutThird(const LabelledRows& items, uint64_t seed);

}  // namespace sortition
