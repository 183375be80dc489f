#pragma once
// Multi-label data from SVMlight text: "0,4 1:v 2:v … # comment", labels from
// 0, comma separated; a line without labels begins with its features.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

// n instances as the rows of a sparse matrix (CSR), with their sets of labels.
struct MultilabelData {
  uint32_t num_features = 0;  // p: the largest feature number seen.
  uint32_t num_labels = 0;    // q: the largest label seen, plus 1.
  std::vector<uint64_t> row_offsets = {0};  // n + 1, into the next two.
  std::vector<uint32_t> columns;            // From 0, ascending in a row.
  std::vector<float> values;
  std::vector<std::vector<uint32_t>> labels;  // n; ascending, each once.

  size_t size() const { return labels.size(); }
};

// InvalidArgument names line and column of what cannot be read.
absl::StatusOr<MultilabelData> ParseMultilabel(absl::string_view text);
absl::StatusOr<MultilabelData> ReadMultilabel(const std::string& path);

}  // namespace sortition
