#pragma once
// Reads data with one label a row: what several benchmarks learn from.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/candidates.h"

namespace sortition {

// n items, each with d features of which the last is constantly 1, and a label.
struct LabelledRows {
  uint32_t num_features = 0;
  std::vector<float> features;   // Row-major, n × d.
  std::vector<uint32_t> labels;  // One per row, from 0.

  Candidates view() const {
    return Candidates::DenseUnchecked(features, num_features);
  }
  size_t size() const { return labels.size(); }
  size_t num_positives() const;
};

// Reads the lines of UCI's optdigits: 64 integers from 0 to 16 and the digit,
// which is the label. Features are the integers divided by 16.
absl::StatusOr<LabelledRows> ReadDigits(const std::string& path);
// Reads SVMlight lines of Adult, with labels -1 and +1, which become 0 and 1.
absl::StatusOr<LabelledRows> ReadAdultRows(const std::string& path);

}  // namespace sortition
