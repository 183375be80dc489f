#include "io/models/warmup_query.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "sortition/v1/columns.pb.h"

namespace sortition {
namespace {

constexpr char kMadeUp[] = "x";

void MaskText(std::string* text) {
  for (char& c : *text) {
    if (!absl::ascii_isspace(static_cast<unsigned char>(c))) c = 'x';
  }
}

// The members of a set must differ.
void MaskSets(v1::CategorySets* sets) {
  for (int row = 0; row + 1 < sets->offsets_size(); ++row) {
    for (uint32_t i = sets->offsets(row);
         i < std::min(sets->offsets(row + 1),
                      static_cast<uint32_t>(sets->values_size()));
         ++i) {
      *sets->mutable_values(static_cast<int>(i)) =
          absl::StrCat(kMadeUp, i - sets->offsets(row));
    }
  }
}

void MaskVectors(v1::Vectors* vectors) {
  const size_t size = vectors->size();
  if (size == 0) return;
  auto& values = *vectors->mutable_values();
  const auto count = static_cast<size_t>(values.size());
  for (size_t begin = 0; begin + size <= count; begin += size) {
    double squares = 0;
    for (size_t i = begin; i < begin + size; ++i) {
      const double value = values[static_cast<int>(i)];
      squares += value * value;
    }
    const auto equal =
        static_cast<float>(std::sqrt(squares / static_cast<double>(size)));
    std::fill_n(values.begin() + static_cast<ptrdiff_t>(begin), size, equal);
  }
}

void MaskColumn(v1::Column* column) {
  switch (column->values_case()) {
    case v1::Column::kTexts:
      for (std::string& text : *column->mutable_texts()->mutable_values()) {
        MaskText(&text);
      }
      return;
    case v1::Column::kCategories:
      for (std::string& category :
           *column->mutable_categories()->mutable_values()) {
        // That of a missing value stays empty.
        if (!category.empty()) category = kMadeUp;
      }
      return;
    case v1::Column::kCategorySets:
      return MaskSets(column->mutable_category_sets());
    case v1::Column::kVectors:
      return MaskVectors(column->mutable_vectors());
    case v1::Column::kNumbers:
    case v1::Column::VALUES_NOT_SET:
      return;
  }
}

}  // namespace

log::v1::Decision WarmupQuery(const log::v1::Decision& decision) {
  log::v1::Decision query;
  query.set_action_kind(decision.action_kind());
  query.set_can_abstain(decision.can_abstain());
  query.set_num_candidates(decision.num_candidates());
  query.set_num_features(decision.num_features());
  query.set_num_labels(decision.num_labels());
  query.set_top_k(decision.top_k());
  *query.mutable_eligible() = decision.eligible();
  *query.mutable_dense_values() = decision.dense_values();
  if (decision.has_sparse()) *query.mutable_sparse() = decision.sparse();
  if (!decision.has_columns()) return query;
  v1::Columns& columns = *query.mutable_columns();
  columns = decision.columns();
  for (auto* const of_scope :
       {columns.mutable_candidate(), columns.mutable_query()}) {
    for (v1::Column& column : *of_scope) MaskColumn(&column);
  }
  return query;
}

}  // namespace sortition
