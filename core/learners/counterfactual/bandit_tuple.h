#pragma once
// Bandit tuples (x, y, δ, p), packed for training. They hold eligible
// candidates only.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/check.h"
#include "core/data/action.h"
#include "core/data/candidates.h"

namespace sortition {

// Features that are kept outside memory. Thread-safe.
class FeatureStore {
 public:
  virtual ~FeatureStore() = default;

  // Says that these bytes will be read soon, so that a store can fetch many at
  // once.
  virtual void WillRead(uint64_t /*offset*/, size_t /*size*/) const {}

  // Reads `size` bytes from `offset` into `data`. If they cannot be read, it
  // writes zeros, which are valid features, and remembers the failure: results
  // computed from them must not be used.
  virtual void Read(uint64_t offset, void* data, size_t size) const = 0;
};

// Where a store has a tuple's values, row offsets and columns, without gaps.
struct StoredFeatures {
  const FeatureStore* store = nullptr;  // Null: the features are in memory.
  uint64_t offset = 0;
  uint32_t num_values = 0;
  uint32_t num_row_offsets = 0;  // 0: dense.

  uint32_t num_columns() const { return num_row_offsets > 0 ? num_values : 0; }
  size_t bytes() const {
    return num_values * sizeof(float) +
           (size_t{num_row_offsets} + num_columns()) * sizeof(uint32_t);
  }
};

// One decision with its outcome. Its rows are the eligible candidates in the
// order of the request. They are dense if `row_offsets` is empty.
struct BanditTuple {
  std::vector<float> values;          // Row-major, or those of the sparse rows.
  std::vector<uint32_t> row_offsets;  // Sparse: one more than rows, first 0.
  std::vector<uint32_t> columns;      // Sparse: one per value.
  StoredFeatures stored;  // If it has a store, the three above are empty.
  uint32_t num_features = 0;
  // Row numbers by rank (of subsets: ascending); kAbstain: no answer.
  Action action;
  double log_propensity = 0;  // log p, finite, at most 0.
  double loss = 0;            // δ in [-1, 0].
  uint64_t unit = 0;          // UnitKey() of the decision.
  // How much it counts in training, in (0, 1]: less with age
  // (TrainOptions.decay).
  double recency = 1;
  // False: the user saw something else than the action. The loss then counts
  // for the logging policy, but says nothing about the action.
  bool action_shown = true;
  // False: the policy that logged it gave some actions probability 0.
  bool full_support = true;

  bool in_memory() const { return stored.store == nullptr; }

  size_t num_candidates() const {
    const size_t offsets =
        in_memory() ? row_offsets.size() : stored.num_row_offsets;
    if (offsets > 0) return offsets - 1;
    return (in_memory() ? values.size() : stored.num_values) / num_features;
  }

  // A view of the rows, valid while this tuple is unchanged. Requires
  // in_memory(); FeatureBlock also reads rows from a store.
  Candidates candidates() const {
    CHECK(in_memory());
    return row_offsets.empty()
               ? Candidates::DenseUnchecked(values, num_features)
               : Candidates::SparseUnchecked(row_offsets, columns, values,
                                             num_features);
  }

  // Returns the memory held, which counts towards the reader's limit.
  size_t bytes() const {
    return sizeof(BanditTuple) + values.capacity() * sizeof(float) +
           (row_offsets.capacity() + columns.capacity()) * sizeof(uint32_t) +
           action.capacity() * sizeof(int32_t);
  }
};

}  // namespace sortition
