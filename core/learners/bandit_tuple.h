#pragma once
// Bandit tuples (x, y, δ, p) packed for training: eligible candidates only.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/data/action.h"
#include "core/data/candidates.h"

namespace sortition {

// One decision with its outcome. Rows are those of the eligible candidates, in
// the order of the request; dense where `row_offsets` is empty.
struct BanditTuple {
  std::vector<float> values;          // Row-major, or those of the sparse rows.
  std::vector<uint32_t> row_offsets;  // Sparse: one more than rows, first 0.
  std::vector<uint32_t> columns;      // Sparse: one per value.
  uint32_t num_features = 0;
  Action action;              // Rows by rank; kAbstain for no answer.
  double log_propensity = 0;  // log p, finite, at most 0.
  double loss = 0;            // δ in [-1, 0].
  // False: the user saw something else than the action. The loss is what the
  // logging policy got, but says nothing of the action.
  bool action_shown = true;

  // A view of the rows; valid while this tuple is unchanged.
  Candidates candidates() const {
    return row_offsets.empty()
               ? Candidates::DenseUnchecked(values, num_features)
               : Candidates::SparseUnchecked(row_offsets, columns, values,
                                             num_features);
  }

  // Memory held, for the limit of the reader.
  size_t bytes() const {
    return sizeof(BanditTuple) + values.capacity() * sizeof(float) +
           (row_offsets.capacity() + columns.capacity()) * sizeof(uint32_t) +
           action.capacity() * sizeof(int32_t);
  }
};

}  // namespace sortition
