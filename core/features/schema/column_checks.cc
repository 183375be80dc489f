#include "core/features/schema/column_checks.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "core/features/schema/bound_columns.h"
#include "core/features/schema/schema.h"
#include "core/features/schema/utf8.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;
using sortition::v1::Column;

absl::Status Error(const Column& column, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("column '", column.name(), "': ", what));
}

absl::Status NoValues(const Column& column) {
  return Error(column,
               "has no values, must have numbers, categories, category_sets, "
               "texts or vectors");
}

absl::Status CheckCount(const Column& column, int count, uint32_t num_rows) {
  if (static_cast<uint32_t>(count) == num_rows) return absl::OkStatus();
  return Error(column, absl::StrCat("has ", count, " values, must have ",
                                    num_rows, ", one per row"));
}

absl::Status CheckMissing(const Column& column, uint32_t num_rows) {
  for (int i = 0; i < column.missing_size(); ++i) {
    if (column.missing(i) >= num_rows) {
      return Error(column, absl::StrCat("missing[", i, "] is ",
                                        column.missing(i), ", must be below ",
                                        num_rows, ", the number of rows"));
    }
    if (i > 0 && column.missing(i) <= column.missing(i - 1)) {
      return Error(column,
                   absl::StrCat("missing[", i, "] is ", column.missing(i),
                                ", must be above ", column.missing(i - 1),
                                ", the entry before it"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckBytes(const Column& column, absl::string_view value, int row,
                        size_t most_bytes) {
  if (value.size() > most_bytes) {
    return Error(column,
                 absl::StrCat("values[", row, "] has ", value.size(),
                              " bytes, must have at most ", most_bytes));
  }
  const size_t bad = FindNotUtf8(value);
  if (bad != absl::string_view::npos) {
    return Error(column,
                 absl::StrFormat("values[%d] has the byte 0x%02x at %d, must "
                                 "be UTF-8",
                                 row, static_cast<uint8_t>(value[bad]), bad));
  }
  return absl::OkStatus();
}

bool IsMissing(const Column& column, int row) {
  return std::binary_search(column.missing().begin(), column.missing().end(),
                            static_cast<uint32_t>(row));
}

absl::Status CheckCategory(const Column& column, absl::string_view value,
                           int row) {
  if (value.empty()) {
    return Error(column, absl::StrCat("values[", row,
                                      "] is empty, must be a category or "
                                      "listed as missing"));
  }
  return CheckBytes(column, value, row, kMostCategoryBytes);
}

absl::Status CheckNumbers(const Column& column, uint32_t num_rows) {
  const auto& values = column.numbers().values();
  RETURN_IF_ERROR(CheckCount(column, values.size(), num_rows));
  for (int i = 0; i < values.size(); ++i) {
    if (std::isinf(values[i])) {
      return Error(column, absl::StrCat("values[", i, "] is ", values[i],
                                        ", must be finite, or NaN for "
                                        "missing"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCategories(const Column& column, uint32_t num_rows) {
  const auto& values = column.categories().values();
  RETURN_IF_ERROR(CheckCount(column, values.size(), num_rows));
  for (int i = 0; i < values.size(); ++i) {
    if (values[i].empty() && IsMissing(column, i)) continue;
    RETURN_IF_ERROR(CheckCategory(column, values[i], i));
  }
  return absl::OkStatus();
}

absl::Status CheckOffsets(const Column& column, uint32_t num_rows) {
  const auto& offsets = column.category_sets().offsets();
  const auto size = static_cast<uint32_t>(column.category_sets().values_size());
  if (static_cast<uint32_t>(offsets.size()) != num_rows + 1) {
    return Error(column,
                 absl::StrCat("has ", offsets.size(), " offsets, must have ",
                              num_rows + 1, ", one more than rows"));
  }
  if (offsets[0] != 0) {
    return Error(column,
                 absl::StrCat("offsets[0] is ", offsets[0], ", must be 0"));
  }
  for (int i = 1; i < offsets.size(); ++i) {
    if (offsets[i] < offsets[i - 1] || offsets[i] > size) {
      return Error(column, absl::StrCat("offsets[", i, "] is ", offsets[i],
                                        ", must be in [", offsets[i - 1], ", ",
                                        size, "]"));
    }
    if (offsets[i] - offsets[i - 1] > kMostSetValues) {
      return Error(column,
                   absl::StrCat("the set of row ", i - 1, " has ",
                                offsets[i] - offsets[i - 1],
                                " values, must have at most ", kMostSetValues));
    }
  }
  if (offsets[offsets.size() - 1] != size) {
    return Error(column, absl::StrCat("offsets[", offsets.size() - 1, "] is ",
                                      offsets[offsets.size() - 1], ", must be ",
                                      size, ", the number of values"));
  }
  return absl::OkStatus();
}

absl::Status CheckSets(const Column& column, uint32_t num_rows) {
  RETURN_IF_ERROR(CheckOffsets(column, num_rows));
  const auto& offsets = column.category_sets().offsets();
  const auto& values = column.category_sets().values();
  std::vector<absl::string_view> sorted;
  for (int row = 0; row + 1 < offsets.size(); ++row) {
    sorted.clear();
    for (uint32_t i = offsets[row]; i < offsets[row + 1]; ++i) {
      const std::string& value = values[static_cast<int>(i)];
      RETURN_IF_ERROR(CheckCategory(column, value, static_cast<int>(i)));
      sorted.push_back(value);
    }
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) {
      return Error(column, absl::StrCat("the set of row ", row, " has '",
                                        *twice, "' twice, must have it once"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTexts(const Column& column, uint32_t num_rows) {
  const auto& values = column.texts().values();
  RETURN_IF_ERROR(CheckCount(column, values.size(), num_rows));
  for (int i = 0; i < values.size(); ++i) {
    RETURN_IF_ERROR(CheckBytes(column, values[i], i, kMostTextBytes));
  }
  return absl::OkStatus();
}

absl::Status CheckVectors(const Column& column, uint32_t num_rows) {
  const auto& vectors = column.vectors();
  if (vectors.size() == 0 || vectors.size() > Schema::kMaxVectorSize) {
    return Error(column,
                 absl::StrCat("size is ", vectors.size(), ", must be in [1, ",
                              Schema::kMaxVectorSize, "]"));
  }
  const uint64_t count = uint64_t{num_rows} * vectors.size();
  if (static_cast<uint64_t>(vectors.values_size()) != count) {
    return Error(column, absl::StrCat("has ", vectors.values_size(),
                                      " values, must have ", count, ", ",
                                      vectors.size(), " per row"));
  }
  for (int i = 0; i < vectors.values_size(); ++i) {
    if (!std::isfinite(vectors.values(i))) {
      const auto size = static_cast<int>(vectors.size());
      return Error(column,
                   absl::StrCat("values[", i, "] (row ", i / size, ") is ",
                                vectors.values(i), ", must be finite"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

ColumnSchema::Type TypeOf(const Column& column) {
  switch (column.values_case()) {
    case Column::kNumbers:
      return ColumnSchema::NUMBER;
    case Column::kCategories:
      return ColumnSchema::CATEGORY;
    case Column::kCategorySets:
      return ColumnSchema::CATEGORY_SET;
    case Column::kTexts:
      return ColumnSchema::TEXT;
    case Column::kVectors:
      return ColumnSchema::VECTOR;
    case Column::VALUES_NOT_SET:
      break;
  }
  return ColumnSchema::TYPE_UNSPECIFIED;
}

absl::Status CheckType(const ColumnSchema& schema, const Column& column) {
  const ColumnSchema::Type type = TypeOf(column);
  if (type == ColumnSchema::TYPE_UNSPECIFIED) {
    return NoValues(column);
  }
  if (type != schema.type()) {
    return Error(column, absl::StrCat("is a ", TypeName(type), ", must be a ",
                                      TypeName(schema.type())));
  }
  if (type == ColumnSchema::VECTOR &&
      column.vectors().size() != schema.size()) {
    return Error(column,
                 absl::StrCat("size is ", column.vectors().size(), ", must be ",
                              schema.size(), ", as in the schema"));
  }
  return absl::OkStatus();
}

absl::Status CheckColumnValues(const Column& column, uint32_t num_rows) {
  RETURN_IF_ERROR(CheckMissing(column, num_rows));
  switch (TypeOf(column)) {
    case ColumnSchema::NUMBER:
      return CheckNumbers(column, num_rows);
    case ColumnSchema::CATEGORY:
      return CheckCategories(column, num_rows);
    case ColumnSchema::CATEGORY_SET:
      return CheckSets(column, num_rows);
    case ColumnSchema::TEXT:
      return CheckTexts(column, num_rows);
    case ColumnSchema::VECTOR:
      return CheckVectors(column, num_rows);
    default:
      return NoValues(column);
  }
}

absl::Status CheckNumCandidates(const sortition::v1::Columns& columns) {
  const uint32_t n = columns.num_candidates();
  if (n >= 1 && n <= kMostRows) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "columns.num_candidates is ", n, ", must be in [1, ", kMostRows, "]"));
}

absl::Status CheckColumns(const sortition::v1::Columns& columns) {
  RETURN_IF_ERROR(CheckNumCandidates(columns));
  const int size = columns.candidate_size() + columns.query_size();
  if (size == 0 || size > Schema::kMostColumns) {
    return absl::InvalidArgumentError(absl::StrCat("columns has ", size,
                                                   " columns, must have 1 to ",
                                                   Schema::kMostColumns));
  }
  absl::flat_hash_set<absl::string_view> names;
  const auto check = [&](absl::string_view scope, const auto& of_scope,
                         uint32_t num_rows) -> absl::Status {
    for (int i = 0; i < of_scope.size(); ++i) {
      const Column& column = of_scope[i];
      if (const absl::Status name = CheckColumnName(column.name());
          !name.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("columns.", scope, "[", i, "].", name.message()));
      }
      if (!names.insert(column.name()).second) {
        return absl::InvalidArgumentError(absl::StrCat(
            "column '", column.name(), "' is there twice, must be once"));
      }
      RETURN_IF_ERROR(CheckColumnValues(column, num_rows));
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(
      check("candidate", columns.candidate(), columns.num_candidates()));
  return check("query", columns.query(), 1);
}

}  // namespace sortition
