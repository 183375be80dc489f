#pragma once
// A query that outlives its request.
#include <cstdint>
#include <memory>
#include <vector>

#include "core/policies/linear_policy.h"

namespace sortition {

class QueryCopy {
 public:
  explicit QueryCopy(const PolicyQuery& query);

  // Views the copy, which must outlive it; top_k and game are unset.
  PolicyQuery View() const;

  // Returns what a copy takes, bytes.
  static uint64_t BytesOf(const PolicyQuery& query);

 private:
  uint32_t num_features_ = 0;
  bool is_sparse_ = false;
  std::vector<float> values_;
  std::vector<uint32_t> row_offsets_;
  std::vector<uint32_t> columns_;
  std::unique_ptr<bool[]> eligible_;  // Null: all are.
  size_t num_eligible_ = 0;           // Entries of it.
  std::unique_ptr<const sortition::v1::Columns> named_columns_;  // Or null.
};

}  // namespace sortition
