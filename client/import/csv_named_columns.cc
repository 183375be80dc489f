#include "client/import/csv_named_columns.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "io/columns/csv_cell.h"

namespace sortition {

using model::v1::ColumnSchema;

void CsvNamedColumns::ReadNames(const CsvCells& cells, int place,
                                std::vector<bool>* named) {
  named->assign(schema_.size(), false);
  if (place < 0) return;
  // Those that the schema does not have are not read either.
  for (const absl::string_view name :
       absl::StrSplit(cells.Cell(place), ' ', absl::SkipEmpty())) {
    const auto column = schema_.Find(name);
    if (column.has_value()) (*named)[*column] = true;
  }
}

absl::Status CsvNamedColumns::AddCell(const CsvCells& cells, size_t column) {
  const int place = cells.columns().named[column];
  const absl::string_view cell = cells.Cell(place);
  const bool is_listed = missing_[column] || absent_[column];
  if (is_listed && !cell.empty()) {
    return cells.Wrong(place,
                       absl::StrCat("empty: the line lists it as ",
                                    missing_[column] ? "missing" : "absent"));
  }
  if (absent_[column]) return absl::OkStatus();
  const ColumnSchema::Type type = schema_.column(column).type();
  if (cell.empty() && type == ColumnSchema::CATEGORY_SET &&
      cells.columns().missing >= 0 && !is_listed) {
    builder_.SetSet(column, {});
    return absl::OkStatus();
  }
  if (is_listed || (cell.empty() && type != ColumnSchema::TEXT)) {
    builder_.SetMissing(column);
    return absl::OkStatus();
  }
  return SetCsvCell(schema_, column, cell, &builder_);
}

absl::Status CsvNamedColumns::AddLine(const CsvCells& cells, bool is_first) {
  if (is_first) {
    builder_.Start("", 0);
    ReadNames(cells, cells.columns().absent, &absent_);
  }
  ReadNames(cells, cells.columns().missing, &missing_);
  for (size_t i = 0; i < schema_.size(); ++i) {
    const bool is_query = schema_.column(i).scope() == ColumnSchema::QUERY;
    if (cells.columns().named[i] < 0 || (is_query && !is_first)) continue;
    RETURN_IF_ERROR(AddCell(cells, i));
  }
  builder_.AddCandidate();
  return absl::OkStatus();
}

absl::Status CsvNamedColumns::Finish(log::v1::Decision* decision) {
  return builder_.Finish(decision->mutable_columns());
}

}  // namespace sortition
