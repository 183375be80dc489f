#include "core/features/schema/bound_columns.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/features/schema/column_checks.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;
using sortition::v1::Column;
using sortition::v1::Columns;

// Returns the columns that the schema does not have, one of which may be a
// misspelling, as "; the model does not read 'Price', 'colour'".
std::string UnreadText(const Schema& schema, const Columns& columns) {
  constexpr size_t kMaxNames = 5;
  std::vector<std::string> names;
  size_t num_others = 0;
  for (const auto* of_scope : {&columns.candidate(), &columns.query()}) {
    for (const Column& column : *of_scope) {
      if (schema.Find(column.name()).has_value()) continue;
      if (names.size() < kMaxNames) {
        names.push_back(absl::StrCat("'", column.name(), "'"));
      } else {
        ++num_others;
      }
    }
  }
  if (names.empty()) return "";
  return absl::StrCat(
      "; the model does not read ", absl::StrJoin(names, ", "),
      num_others > 0 ? absl::StrCat(" and ", num_others, " more") : "");
}

absl::Status Absent(const Schema& schema, const ColumnSchema& column,
                    const Columns& columns) {
  return absl::InvalidArgumentError(absl::StrCat(
      "column '", column.name(), "' is absent, must be a ",
      TypeName(column.type()), " of the ",
      column.scope() == ColumnSchema::QUERY ? "query" : "candidates",
      UnreadText(schema, columns)));
}

}  // namespace

bool BoundColumn::Missing(uint32_t row) const {
  if (column_ == nullptr) return !schema_->has_number() && !schema_->has_text();
  const size_t place = Place(row);
  if (!missing_.empty() && missing_[place] != 0) return true;
  return schema_->type() == ColumnSchema::NUMBER &&
         std::isnan(column_->numbers().values(static_cast<int>(place)));
}

double BoundColumn::Number(uint32_t row) const {
  DCHECK(!Missing(row));
  if (column_ == nullptr) return schema_->number();
  return column_->numbers().values(static_cast<int>(Place(row)));
}

absl::string_view BoundColumn::Text(uint32_t row) const {
  DCHECK(!Missing(row));
  if (column_ == nullptr) return schema_->text();
  const auto place = static_cast<int>(Place(row));
  return schema_->type() == ColumnSchema::TEXT
             ? column_->texts().values(place)
             : column_->categories().values(place);
}

std::span<const std::string* const> BoundColumn::Set(uint32_t row) const {
  DCHECK(!Missing(row));
  const auto& sets = column_->category_sets();
  const auto place = static_cast<int>(Place(row));
  const uint32_t begin = sets.offsets(place);
  return {sets.values().data() + begin, sets.offsets(place + 1) - begin};
}

std::span<const float> BoundColumn::Vector(uint32_t row) const {
  DCHECK(!Missing(row));
  return {column_->vectors().values().data() + Place(row) * schema_->size(),
          schema_->size()};
}

absl::Status BoundColumns::Bind(const Schema& schema, const Columns& columns,
                                const BindOptions& options) {
  RETURN_IF_ERROR(CheckNumCandidates(columns));
  num_candidates_ = columns.num_candidates();
  columns_.resize(schema.size());
  for (size_t i = 0; i < schema.size(); ++i) {
    columns_[i].schema_ = &schema.column(i);
    columns_[i].column_ = nullptr;
    columns_[i].one_value_ = schema.column(i).scope() == ColumnSchema::QUERY;
    columns_[i].missing_.clear();
  }
  RETURN_IF_ERROR(BindScope(schema, ColumnSchema::CANDIDATE,
                            columns.candidate(), options.check_values));
  RETURN_IF_ERROR(BindScope(schema, ColumnSchema::QUERY, columns.query(),
                            options.check_values));
  if (options.absent_is_missing) return absl::OkStatus();
  for (const BoundColumn& column : columns_) {
    if (column.column_ == nullptr &&
        column.schema_->if_absent_case() == ColumnSchema::IF_ABSENT_NOT_SET) {
      return Absent(schema, *column.schema_, columns);
    }
  }
  return absl::OkStatus();
}

absl::Status BoundColumns::BindScope(
    const Schema& schema, ColumnSchema::Scope scope,
    const google::protobuf::RepeatedPtrField<Column>& columns,
    bool check_values) {
  for (const Column& column : columns) {
    const std::optional<size_t> index = schema.Find(column.name());
    if (!index.has_value()) continue;
    BoundColumn& bound = columns_[*index];
    if (bound.schema_->scope() != scope) {
      return absl::InvalidArgumentError(
          absl::StrCat("column '", column.name(), "' is a column of the ",
                       bound.one_value_ ? "candidates" : "query",
                       ", must be a column of the ",
                       bound.one_value_ ? "query" : "candidates"));
    }
    if (bound.column_ != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "column '", column.name(), "' is there twice, must be once"));
    }
    const uint32_t num_rows = bound.one_value_ ? 1 : num_candidates_;
    RETURN_IF_ERROR(CheckType(*bound.schema_, column));
    if (check_values) RETURN_IF_ERROR(CheckColumnValues(column, num_rows));
    bound.column_ = &column;
    if (!column.missing().empty()) bound.missing_.resize(num_rows);
    for (const uint32_t row : column.missing()) bound.missing_[row] = 1;
  }
  return absl::OkStatus();
}

}  // namespace sortition
