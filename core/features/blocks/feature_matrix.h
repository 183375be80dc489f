#pragma once
// The features of one query's candidates.
#include <cstdint>
#include <vector>

#include "core/data/candidates.h"

namespace sortition {

// n × d, dense by rows or as compressed sparse rows. Reused for many queries.
struct FeatureMatrix {
  uint32_t num_features = 0;  // d
  std::vector<float> values;
  std::vector<uint32_t> row_offsets;  // Empty: dense.
  std::vector<uint32_t> columns;

  // A view. Requires num_features above 0 and at least one row.
  Candidates View() const {
    return row_offsets.empty()
               ? Candidates::DenseUnchecked(values, num_features)
               : Candidates::SparseUnchecked(row_offsets, columns, values,
                                             num_features);
  }
};

}  // namespace sortition
