#pragma once
// Supervised multi-label data.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sortition {

// n instances as the rows of a sparse matrix (CSR), with their sets of labels.
struct MultilabelData {
  uint32_t num_features = 0;                // p: features are below it.
  uint32_t num_labels = 0;                  // q: labels are below it.
  std::vector<uint64_t> row_offsets = {0};  // n + 1, into the next two.
  std::vector<uint32_t> columns;            // From 0, ascending in a row.
  std::vector<float> values;
  std::vector<std::vector<uint32_t>> labels;  // n; ascending, each once.
  uint64_t extreme_values = 0;  // No finite floats, and read by an option.

  size_t size() const { return labels.size(); }
};

}  // namespace sortition
