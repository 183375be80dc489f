#include "io/datasets/query_candidates.h"

#include <cstddef>

#include "sortition/v1/columns.pb.h"

namespace sortition {
namespace {

bool StatesAll(const LabelledQuery& query, uint32_t num_features) {
  return query.stated == nullptr ||
         (query.stated->bits.empty() && query.stated->width >= num_features);
}

}  // namespace

void SetQueryCandidates(const LabelledQuery& query, uint32_t num_features,
                        v1::Candidates* candidates) {
  if (query.columns != nullptr) {
    *candidates->mutable_columns() = *query.columns;
    return;
  }
  candidates->set_num_features(num_features);
  if (StatesAll(query, num_features)) {
    candidates->mutable_dense()->mutable_values()->Add(query.features.begin(),
                                                       query.features.end());
    return;
  }
  v1::SparseFeatures& rows = *candidates->mutable_sparse();
  rows.add_row_offsets(0);
  for (size_t row = 0; row < query.relevances.size(); ++row) {
    for (uint32_t column = 0; column < num_features; ++column) {
      if (!query.stated->Has(row, column)) continue;
      rows.add_columns(column);
      rows.add_values(query.features[row * num_features + column]);
    }
    rows.add_row_offsets(static_cast<uint32_t>(rows.columns_size()));
  }
}

}  // namespace sortition
