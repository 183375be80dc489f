#include "client/export/named_values.h"

#include <algorithm>
#include <span>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/export/text_values.h"
#include "io/columns/csv_cell.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;

std::string FieldOf(ColumnSchema::Scope scope, absl::string_view name) {
  return absl::StrCat(scope == ColumnSchema::QUERY ? "query." : "candidate.",
                      name);
}

// Appends a name to a list with spaces between: names have none.
void AppendName(absl::string_view name, std::string* list) {
  absl::StrAppend(list, list->empty() ? "" : " ", name);
}

bool HasSeparator(const BoundColumn& column, uint32_t num_rows) {
  for (uint32_t row = 0; row < num_rows; ++row) {
    if (column.Missing(row)) continue;
    for (const std::string* const value : column.Set(row)) {
      if (absl::StrContains(*value, kSetSeparator)) return true;
    }
  }
  return false;
}

// Appends a value that is not missing.
void AppendCell(const ColumnSchema& schema, const BoundColumn& column,
                uint32_t row, std::string* out) {
  switch (schema.type()) {
    case ColumnSchema::NUMBER:
      return AppendNumber(column.Number(row), out);
    case ColumnSchema::CATEGORY_SET: {
      std::string values;
      for (const std::string* const value : column.Set(row)) {
        if (!values.empty()) values.push_back(kSetSeparator);
        values.append(*value);
      }
      return AppendCsvField(values, out);
    }
    case ColumnSchema::VECTOR: {
      const std::span<const float> vector = column.Vector(row);
      for (size_t i = 0; i < vector.size(); ++i) {
        if (i > 0) out->push_back(' ');
        AppendNumber(vector[i], out);
      }
      return;
    }
    default:
      return AppendCsvField(column.Text(row), out);
  }
}

}  // namespace

bool NamedCells::Survey(const log::v1::Decision& decision) {
  if (!surveyed_.Bind(decision.columns()).ok()) return false;
  for (const ColumnSchema& column : surveyed_.schema().declared().column()) {
    places_.emplace(Key(column.scope(), column.name()), -1);
  }
  return true;
}

void NamedCells::AppendHeader(std::string* out) const {
  out->append(",missing_columns,absent_columns");
  for (const auto& [key, place] : places_) {
    out->push_back(',');
    AppendCsvField(FieldOf(key.first, key.second), out);
  }
}

absl::string_view NamedCells::Begin(const TupleView& view) {
  columns_ = &view.columns->columns();
  schema_ = &view.columns->schema();
  for (auto& [key, place] : places_) place = -1;
  for (size_t i = 0; i < schema_->size(); ++i) {
    const ColumnSchema& column = schema_->column(i);
    const auto found = places_.find(Key(column.scope(), column.name()));
    if (found == places_.end()) return "columns that the header does not have";
    found->second = static_cast<int>(i);
    const bool is_query = column.scope() == ColumnSchema::QUERY;
    if (column.type() == ColumnSchema::CATEGORY_SET &&
        HasSeparator(columns_->column(i),
                     is_query ? 1 : columns_->num_candidates())) {
      return "sets with a value that has a |, which separates values";
    }
  }
  absent_.clear();
  for (const auto& [key, place] : places_) {
    if (place < 0) AppendName(key.second, &absent_);
  }
  return {};
}

void NamedCells::AppendRow(uint32_t document_index, std::string* out) const {
  std::string missing;
  std::string cells;
  for (const auto& [key, place] : places_) {
    cells.push_back(',');
    if (place < 0) continue;
    const BoundColumn& column = columns_->column(static_cast<size_t>(place));
    if (column.Missing(document_index)) {
      AppendName(key.second, &missing);
    } else {
      AppendCell(schema_->column(static_cast<size_t>(place)), column,
                 document_index, &cells);
    }
  }
  out->push_back(',');
  AppendCsvField(missing, out);
  out->push_back(',');
  AppendCsvField(absent_, out);
  out->append(cells);
}

absl::string_view FindNoNamespace(const Schema& schema) {
  for (const ColumnSchema& column : schema.declared().column()) {
    if (absl::StartsWith(column.name(), "_")) {
      return "columns whose names begin with _, which are no namespaces";
    }
    if (column.name() == "abstain" &&
        column.scope() == ColumnSchema::CANDIDATE) {
      return "a column abstain of the candidates, which stands for no answer";
    }
  }
  return {};
}

void AppendNamespace(const ColumnSchema& schema, const BoundColumn& column,
                     uint32_t row, std::string* out) {
  AppendJsonString(schema.name(), out);
  out->push_back(':');
  if (column.Missing(row)) {
    out->append("null");
    return;
  }
  switch (schema.type()) {
    case ColumnSchema::VECTOR:
      out->push_back('[');
      AppendFloats(column.Vector(row), out);
      out->push_back(']');
      return;
    case ColumnSchema::NUMBER:
      out->push_back('{');
      AppendJsonString(schema.name(), out);
      out->push_back(':');
      AppendNumber(column.Number(row), out);
      break;
    case ColumnSchema::CATEGORY:
      out->push_back('{');
      AppendJsonString(column.Text(row), out);
      out->append(":1");
      break;
    case ColumnSchema::TEXT:
      out->append("{\"_text\":");
      AppendJsonString(column.Text(row), out);
      break;
    default:
      out->push_back('{');
      for (const std::string* const value : column.Set(row)) {
        if (out->back() != '{') out->push_back(',');
        AppendJsonString(*value, out);
        out->append(":1");
      }
  }
  out->push_back('}');
}

}  // namespace sortition
