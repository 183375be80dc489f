#include "trainer/clicks/item_keys.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/features/schema/bound_columns.h"
#include "trainer/frames/model_frame.h"

namespace sortition {
namespace {

using sortition::v1::Column;

template <typename T>
void AppendBytes(const T& value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void AppendText(const std::string& text, std::string* bytes) {
  AppendBytes(text.size(), bytes);
  bytes->append(text);
}

// The features that are not 0, so that dense and sparse ones are the same.
void AppendFeatures(const Candidates& candidates, uint32_t row,
                    std::string* bytes) {
  const auto append = [&](uint32_t column, float value) {
    if (value == 0) return;
    AppendBytes(column, bytes);
    AppendBytes(value, bytes);
  };
  const std::span<const float> values = candidates.values();
  if (candidates.sparse()) {
    for (uint32_t k = candidates.row_offsets()[row];
         k < candidates.row_offsets()[row + 1]; ++k) {
      append(candidates.columns()[k], values[k]);
    }
    return;
  }
  const uint32_t d = candidates.num_features();
  for (uint32_t j = 0; j < d; ++j) append(j, values[size_t{row} * d + j]);
}

// Whether there is a value for each of `n` rows.
bool HasRows(const Column& column, uint32_t n) {
  switch (column.values_case()) {
    case Column::kNumbers:
      return static_cast<uint32_t>(column.numbers().values_size()) == n;
    case Column::kCategories:
      return static_cast<uint32_t>(column.categories().values_size()) == n;
    case Column::kTexts:
      return static_cast<uint32_t>(column.texts().values_size()) == n;
    case Column::kVectors:
      return static_cast<uint64_t>(column.vectors().values_size()) ==
             uint64_t{n} * column.vectors().size();
    case Column::kCategorySets: {
      const auto& offsets = column.category_sets().offsets();
      return static_cast<uint64_t>(offsets.size()) == uint64_t{n} + 1 &&
             std::is_sorted(offsets.begin(), offsets.end()) &&
             offsets[static_cast<int>(n)] <=
                 static_cast<uint32_t>(column.category_sets().values_size());
    }
    case Column::VALUES_NOT_SET:
      return true;
  }
  return false;
}

// Appends what a column says of a row that it has.
void AppendValue(const Column& column, uint32_t row, std::string* bytes) {
  AppendText(column.name(), bytes);
  const bool is_missing =
      std::binary_search(column.missing().begin(), column.missing().end(), row);
  bytes->push_back(is_missing ? 0 : 1);
  if (is_missing) return;
  const int i = static_cast<int>(row);
  switch (column.values_case()) {
    case Column::kNumbers:
      AppendBytes(column.numbers().values(i), bytes);
      return;
    case Column::kCategories:
      AppendText(column.categories().values(i), bytes);
      return;
    case Column::kTexts:
      AppendText(column.texts().values(i), bytes);
      return;
    case Column::kVectors: {
      const int size = static_cast<int>(column.vectors().size());
      for (int j = 0; j < size; ++j) {
        AppendBytes(column.vectors().values(i * size + j), bytes);
      }
      return;
    }
    case Column::kCategorySets: {
      const auto& sets = column.category_sets();
      std::vector<std::string> members;
      for (uint32_t k = sets.offsets(i); k < sets.offsets(i + 1); ++k) {
        members.push_back(sets.values(static_cast<int>(k)));
      }
      std::sort(members.begin(), members.end());
      AppendBytes(members.size(), bytes);
      for (const std::string& member : members) AppendText(member, bytes);
      return;
    }
    case Column::VALUES_NOT_SET:
      return;
  }
}

// Returns the columns by name; nothing if one lacks values for `n` rows.
template <typename Columns>
std::optional<std::vector<const Column*>> SortedColumns(const Columns& columns,
                                                        uint32_t n) {
  std::vector<const Column*> sorted;
  for (const Column& column : columns) {
    if (!HasRows(column, n)) return std::nullopt;
    sorted.push_back(&column);
  }
  std::sort(sorted.begin(), sorted.end(), [](const Column* a, const Column* b) {
    return a->name() < b->name();
  });
  return sorted;
}

Hash128 HashOf(absl::string_view query, absl::string_view bytes) {
  return StableHash(HashDomain::kContext, {query, bytes});
}

}  // namespace

absl::StatusOr<ClickItems> ParseClickItems(absl::string_view text) {
  if (text == "ids") return ClickItems::kIds;
  if (text == "features") return ClickItems::kFeatures;
  if (text == "regression") return ClickItems::kRegression;
  return absl::InvalidArgumentError(absl::StrCat(
      "items is '", text, "', must be ids, features or regression"));
}

std::optional<LeftOutReason> ItemKeys::ReadColumns(
    const sortition::v1::Columns& columns) {
  auto of_candidates = SortedColumns(columns.candidate(), num_candidates_);
  const auto of_query = SortedColumns(columns.query(), 1);
  if (!of_candidates || !of_query) return LeftOutReason::kBadFeatures;
  columns_ = *std::move(of_candidates);
  for (const Column* const column : *of_query) {
    AppendValue(*column, 0, &query_);
  }
  return std::nullopt;
}

std::optional<LeftOutReason> ItemKeys::Read(const log::v1::Decision& decision) {
  decision_ = &decision;
  num_candidates_ = decision.num_candidates();
  candidates_ = Candidates();
  columns_.clear();
  query_.clear();
  if (items_ == ClickItems::kIds) {
    if (decision.candidate_ids().empty()) return LeftOutReason::kNoCandidateIds;
    if (static_cast<uint32_t>(decision.candidate_ids_size()) !=
        num_candidates_) {
      return LeftOutReason::kBadCandidateIds;
    }
  }
  const bool is_made =
      items_ == ClickItems::kRegression && decision.has_columns();
  if (is_made && (features_ == nullptr || features_->transform() == nullptr)) {
    return LeftOutReason::kColumns;
  }
  // Keys of decisions with a column and without it would not be comparable.
  BoundColumns bound;
  if (is_made &&
      !bound.Bind(features_->transform()->schema(), decision.columns()).ok()) {
    return LeftOutReason::kBadFeatures;
  }
  const auto view = is_made ? ViewFeatures(decision, features_, &scratch_)
                            : ViewDecision(decision);
  if (!view.ok()) return LeftOutReason::kBadFeatures;
  if (view->columns != nullptr) return ReadColumns(*view->columns);
  candidates_ = view->candidates;
  if (items_ != ClickItems::kIds) return std::nullopt;
  // The same whatever the order of the candidates.
  Hash128 sum;
  for (uint32_t i = 0; i < num_candidates_; ++i) {
    bytes_.clear();
    AppendCandidate(i, &bytes_);
    const Hash128 hash =
        HashOf(decision.candidate_ids(static_cast<int>(i)), bytes_);
    sum.low += hash.low;
    sum.high += hash.high;
  }
  AppendBytes(sum.low, &query_);
  AppendBytes(sum.high, &query_);
  return std::nullopt;
}

void ItemKeys::AppendCandidate(uint32_t document_index,
                               std::string* bytes) const {
  for (const Column* const column : columns_) {
    AppendValue(*column, document_index, bytes);
  }
  if (candidates_.num_candidates() > 0) {
    AppendFeatures(candidates_, document_index, bytes);
  }
}

Hash128 ItemKeys::KeyOf(uint32_t document_index) {
  if (items_ == ClickItems::kIds) {
    return HashOf(query_,
                  decision_->candidate_ids(static_cast<int>(document_index)));
  }
  bytes_.clear();
  AppendCandidate(document_index, &bytes_);
  return HashOf(query_, bytes_);
}

void ItemKeys::AppendRow(uint32_t document_index,
                         std::vector<float>* rows) const {
  const size_t d = candidates_.num_features();
  const std::span<const float> values = candidates_.values();
  if (!candidates_.sparse()) {
    const auto begin =
        values.begin() + static_cast<std::ptrdiff_t>(document_index * d);
    rows->insert(rows->end(), begin, begin + static_cast<std::ptrdiff_t>(d));
    return;
  }
  const size_t first = rows->size();
  rows->resize(first + d, 0);
  for (uint32_t k = candidates_.row_offsets()[document_index];
       k < candidates_.row_offsets()[document_index + 1]; ++k) {
    (*rows)[first + candidates_.columns()[k]] = values[k];
  }
}

}  // namespace sortition
