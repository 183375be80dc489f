#include "core/learners/counterfactual/feature_block.h"

#include <algorithm>

#include "core/base/check.h"

namespace sortition {
namespace {

// Reads a tuple's features into `values` and `integers`, and moves both
// pointers behind them.
Candidates ReadStored(const BanditTuple& tuple, float** values,
                      uint32_t** integers) {
  const StoredFeatures& stored = tuple.stored;
  const std::span<const float> row_values(*values, stored.num_values);
  stored.store->Read(stored.offset, *values, row_values.size_bytes());
  *values += stored.num_values;
  if (stored.num_row_offsets == 0) {
    return Candidates::DenseUnchecked(row_values, tuple.num_features);
  }
  const std::span<const uint32_t> row_offsets(*integers,
                                              stored.num_row_offsets);
  const std::span<const uint32_t> columns(*integers + stored.num_row_offsets,
                                          stored.num_columns());
  stored.store->Read(stored.offset + row_values.size_bytes(), *integers,
                     row_offsets.size_bytes() + columns.size_bytes());
  *integers += row_offsets.size() + columns.size();
  return Candidates::SparseUnchecked(row_offsets, columns, row_values,
                                     tuple.num_features);
}

}  // namespace

void FeatureBlock::Assign(std::span<const BanditTuple> tuples,
                          std::span<const uint32_t> indexes) {
  tuples_ = tuples;
  indexes_ = indexes;
  candidates_.clear();
}

FeatureBlock::Row FeatureBlock::LoadRow(const BanditTuple& tuple,
                                        uint32_t row) {
  if (tuple.in_memory() || tuple.stored.num_row_offsets > 0) {
    return {Load(tuple), row};
  }
  Assign({}, {});
  if (values_.size() < tuple.num_features) values_.resize(tuple.num_features);
  const std::span<const float> values(values_.data(), tuple.num_features);
  tuple.stored.store->Read(tuple.stored.offset + row * values.size_bytes(),
                           values_.data(), values.size_bytes());
  begin_ = 0;
  candidates_.push_back(Candidates::DenseUnchecked(values, tuple.num_features));
  return {candidates_[0], 0};
}

void FeatureBlock::LoadFrom(size_t k) {
  DCHECK(k < indexes_.size());
  begin_ = k - k % kLoadedTuples;
  const std::span<const uint32_t> loaded = indexes_.subspan(
      begin_, std::min(kLoadedTuples, indexes_.size() - begin_));
  size_t num_values = 0;
  size_t num_integers = 0;
  for (const uint32_t i : loaded) {
    const StoredFeatures& stored = tuples_[i].stored;
    if (stored.store == nullptr) continue;
    if (loaded.size() > 1) {
      stored.store->WillRead(stored.offset, stored.bytes());
    }
    num_values += stored.num_values;
    num_integers += size_t{stored.num_row_offsets} + stored.num_columns();
  }
  if (values_.size() < num_values) values_.resize(num_values);
  if (integers_.size() < num_integers) integers_.resize(num_integers);
  float* values = values_.data();
  uint32_t* integers = integers_.data();
  candidates_.clear();
  for (const uint32_t i : loaded) {
    const BanditTuple& tuple = tuples_[i];
    candidates_.push_back(tuple.in_memory()
                              ? tuple.candidates()
                              : ReadStored(tuple, &values, &integers));
  }
}

}  // namespace sortition
