#include "io/columns/csv_cell.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;

absl::Status Wrong(const ColumnSchema& schema, absl::string_view cell,
                   absl::string_view permitted) {
  return absl::InvalidArgumentError(absl::StrCat("column '", schema.name(),
                                                 "' is '", Shown(cell),
                                                 "', must be ", permitted));
}

absl::Status SetVectorCell(const ColumnSchema& schema, size_t column,
                           absl::string_view cell, QueryBuilder* builder) {
  std::vector<float> vector;
  for (const absl::string_view text :
       absl::StrSplit(cell, ' ', absl::SkipEmpty())) {
    vector.emplace_back();
    if (!ParseNumber(text, &vector.back())) {
      return Wrong(schema, cell, "numbers with spaces between");
    }
  }
  return builder->SetVector(column, vector);
}

}  // namespace

absl::Status SetCsvCell(const Schema& schema, size_t column,
                        absl::string_view cell, QueryBuilder* builder) {
  const ColumnSchema& declared = schema.column(column);
  if (cell.empty() && declared.type() != ColumnSchema::TEXT) {
    return absl::OkStatus();
  }
  switch (declared.type()) {
    case ColumnSchema::NUMBER: {
      double number = 0;
      if (!ParseNumber(cell, &number) || !std::isfinite(number)) {
        return Wrong(declared, cell, "a finite number, or empty");
      }
      builder->SetNumber(column, number);
      return absl::OkStatus();
    }
    case ColumnSchema::CATEGORY_SET: {
      const std::vector<absl::string_view> values =
          absl::StrSplit(cell, kSetSeparator);
      builder->SetSet(column, values);
      return absl::OkStatus();
    }
    case ColumnSchema::VECTOR:
      return SetVectorCell(declared, column, cell, builder);
    default:
      builder->SetText(column, cell);
      return absl::OkStatus();
  }
}

}  // namespace sortition
