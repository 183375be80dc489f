#pragma once
// Reads the binary classification data of table 3 of [WangXingAsifZiebart15].
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/candidates.h"

namespace sortition {

// n items, each with d features of which the last is constantly 1, and a label.
struct BinaryItems {
  uint32_t num_features = 0;
  std::vector<float> features;   // Row-major, n × d.
  std::vector<uint32_t> labels;  // 0 or 1.

  Candidates view() const {
    return Candidates::DenseUnchecked(features, num_features);
  }
  size_t size() const { return labels.size(); }
  size_t num_positives() const;
};

struct BinaryProblem {
  BinaryItems train;
  BinaryItems test;
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
  BinaryItems train;
  BinaryItems validation;
};
HoldOut HoldOutThird(const BinaryItems& items, uint64_t seed);

}  // namespace sortition
