#include "core/features/schema/schema.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/annotated_range.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "core/features/schema/utf8.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;

absl::Status ColumnError(const ColumnSchema& column, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("schema: column '", column.name(), "': ", what));
}

absl::Status CheckSize(const ColumnSchema& column) {
  const bool is_vector = column.type() == ColumnSchema::VECTOR;
  if (is_vector == (column.size() > 0)) return absl::OkStatus();
  return ColumnError(
      column,
      absl::StrCat("size is ", column.size(), ", must ",
                   is_vector ? "be in [1, 4096]" : "be unset: the type is ",
                   is_vector ? "" : TypeName(column.type())));
}

absl::Status CheckDefault(const ColumnSchema& column) {
  switch (column.if_absent_case()) {
    case ColumnSchema::kNumber:
      if (column.type() != ColumnSchema::NUMBER) {
        return ColumnError(column, absl::StrCat("number is set, must be unset: "
                                                "the type is ",
                                                TypeName(column.type())));
      }
      if (!std::isfinite(column.number())) {
        return ColumnError(column, absl::StrCat("number is ", column.number(),
                                                ", must be finite"));
      }
      return absl::OkStatus();
    case ColumnSchema::kText:
      if (column.type() != ColumnSchema::TEXT &&
          column.type() != ColumnSchema::CATEGORY) {
        return ColumnError(column, absl::StrCat("text is set, must be unset: "
                                                "the type is ",
                                                TypeName(column.type())));
      }
      if (column.type() == ColumnSchema::CATEGORY && column.text().empty()) {
        return ColumnError(column, "text is empty, must be a category");
      }
      return absl::OkStatus();
    case ColumnSchema::kMissing:
      if (column.missing()) return absl::OkStatus();
      return ColumnError(column, "missing is false, must be true or unset");
    case ColumnSchema::IF_ABSENT_NOT_SET:
      break;
  }
  return absl::OkStatus();
}

// Returns what a request's column must have in common with the declaration, as
// "VECTOR of 3 numbers of the candidates".
std::string DeclaredText(const ColumnSchema& column) {
  return absl::StrCat(TypeName(column.type()),
                      column.type() == ColumnSchema::VECTOR
                          ? absl::StrCat(" of ", column.size(), " numbers")
                          : "",
                      column.scope() == ColumnSchema::QUERY
                          ? " of the query"
                          : " of the candidates");
}

std::string HashOf(const model::v1::Schema& schema) {
  std::vector<std::string> lines;
  for (const ColumnSchema& column : schema.column()) {
    std::string line =
        absl::StrCat(column.name(), "\n", column.type(), " ", column.scope(),
                     " ", column.size(), " ", column.if_absent_case(), " ");
    if (column.has_number()) {
      absl::StrAppendFormat(&line, "%.17g", column.number());
    }
    if (column.has_text()) absl::StrAppend(&line, column.text());
    lines.push_back(absl::StrCat(line.size(), " ", line));
  }
  std::sort(lines.begin(), lines.end());
  const Hash128 hash = HashBytes(absl::StrJoin(lines, "\n"));
  return absl::StrFormat("%016x%016x", hash.high, hash.low);
}

}  // namespace

absl::StatusOr<Schema> Schema::Create(const model::v1::Schema& declared) {
  if (declared.column_size() == 0 || declared.column_size() > kMostColumns) {
    return absl::InvalidArgumentError(
        absl::StrCat("schema has ", declared.column_size(),
                     " columns, must have 1 to ", kMostColumns));
  }
  RETURN_IF_ERROR(CheckAnnotatedRanges(declared, "schema"));
  Schema schema;
  for (int i = 0; i < declared.column_size(); ++i) {
    const ColumnSchema& column = declared.column(i);
    if (const absl::Status name = CheckColumnName(column.name()); !name.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("schema.column[", i, "].", name.message()));
    }
    RETURN_IF_ERROR(CheckSize(column));
    RETURN_IF_ERROR(CheckDefault(column));
    if (!ColumnSchema::Scope_IsValid(column.scope())) {
      return ColumnError(column, absl::StrCat("scope is ", column.scope(),
                                              ", must be CANDIDATE or QUERY"));
    }
    if (!schema.indexes_.emplace(column.name(), i).second) {
      return ColumnError(column, "is declared twice, must be once");
    }
  }
  schema.declared_ = declared;
  schema.hash_ = HashOf(declared);
  return schema;
}

std::optional<size_t> Schema::Find(absl::string_view name) const {
  const auto found = indexes_.find(name);
  if (found == indexes_.end()) return std::nullopt;
  return found->second;
}

std::string FindTypeConflict(const model::v1::Schema& schema,
                             const model::v1::Schema& other) {
  absl::flat_hash_map<std::string, const ColumnSchema*> others;
  for (const ColumnSchema& column : other.column()) {
    others.emplace(column.name(), &column);
  }
  for (const ColumnSchema& column : schema.column()) {
    const auto found = others.find(column.name());
    if (found == others.end()) continue;
    const std::string text = DeclaredText(column);
    const std::string other_text = DeclaredText(*found->second);
    if (text == other_text) continue;
    return absl::StrCat("column '", column.name(), "' is a ", text,
                        ", must be a ", other_text);
  }
  return "";
}

absl::Status CheckColumnName(const std::string& name) {
  if (name.empty() || name.size() > Schema::kMostNameBytes) {
    return absl::InvalidArgumentError(absl::StrCat("name has ", name.size(),
                                                   " bytes, must have 1 to ",
                                                   Schema::kMostNameBytes));
  }
  const size_t place = name.find_first_of(" \t\r\n\v\f,()~^*#=");
  if (place != std::string::npos || FindNotUtf8(name) != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        "name is '", absl::Utf8SafeCHexEscape(name),
        "', must be UTF-8 without white space and , ( ) ~ ^ * # ="));
  }
  return absl::OkStatus();
}

const std::string& TypeName(ColumnSchema::Type type) {
  return ColumnSchema::Type_Name(type);
}

}  // namespace sortition
