#include "server/shadows/query_copy.h"

#include <algorithm>

namespace sortition {

QueryCopy::QueryCopy(const PolicyQuery& query)
    : num_features_(query.candidates.num_features()),
      is_sparse_(query.candidates.sparse()),
      values_(query.candidates.values().begin(),
              query.candidates.values().end()),
      row_offsets_(query.candidates.row_offsets().begin(),
                   query.candidates.row_offsets().end()),
      columns_(query.candidates.columns().begin(),
               query.candidates.columns().end()),
      num_eligible_(query.eligible.size()) {
  if (query.columns != nullptr) {
    named_columns_ =
        std::make_unique<const sortition::v1::Columns>(*query.columns);
  }
  if (query.eligible.empty()) return;
  eligible_ = std::make_unique<bool[]>(num_eligible_);
  std::copy(query.eligible.begin(), query.eligible.end(), eligible_.get());
}

PolicyQuery QueryCopy::View() const {
  PolicyQuery query;
  if (named_columns_ != nullptr) {
    query.columns = named_columns_.get();
  } else {
    query.candidates = is_sparse_
                           ? Candidates::SparseUnchecked(row_offsets_, columns_,
                                                         values_, num_features_)
                           : Candidates::DenseUnchecked(values_, num_features_);
  }
  query.eligible = {eligible_.get(), num_eligible_};
  return query;
}

uint64_t QueryCopy::BytesOf(const PolicyQuery& query) {
  return sizeof(QueryCopy) + query.candidates.values().size_bytes() +
         query.candidates.row_offsets().size_bytes() +
         query.candidates.columns().size_bytes() + query.eligible.size_bytes() +
         (query.columns != nullptr ? query.columns->SpaceUsedLong() : 0);
}

}  // namespace sortition
