#include "core/features/schema/bound_columns.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/features/schema/column_checks.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;
using sortition::v1::Column;
using sortition::v1::Columns;

}  // namespace

bool BoundColumn::Missing(uint32_t row) const {
  if (column_ == nullptr) return schema_->has_missing();
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

absl::Status BoundColumns::Bind(const Schema& schema, const Columns& columns) {
  num_candidates_ = columns.num_candidates();
  if (num_candidates_ == 0 || num_candidates_ > kMostRows) {
    return absl::InvalidArgumentError(
        absl::StrCat("columns.num_candidates is ", num_candidates_,
                     ", must be in [1, ", kMostRows, "]"));
  }
  columns_.resize(schema.size());
  for (size_t i = 0; i < schema.size(); ++i) {
    columns_[i].schema_ = &schema.column(i);
    columns_[i].column_ = nullptr;
    columns_[i].one_value_ = schema.column(i).scope() == ColumnSchema::QUERY;
    columns_[i].missing_.clear();
  }
  RETURN_IF_ERROR(
      BindScope(schema, ColumnSchema::CANDIDATE, columns.candidate()));
  RETURN_IF_ERROR(BindScope(schema, ColumnSchema::QUERY, columns.query()));
  for (const BoundColumn& column : columns_) {
    if (column.column_ != nullptr ||
        column.schema_->if_absent_case() != ColumnSchema::IF_ABSENT_NOT_SET) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "column '", column.schema_->name(), "' is absent, must be a ",
        TypeName(column.schema_->type()), " of the ",
        column.one_value_ ? "query" : "candidates"));
  }
  return absl::OkStatus();
}

absl::Status BoundColumns::BindScope(
    const Schema& schema, ColumnSchema::Scope scope,
    const google::protobuf::RepeatedPtrField<Column>& columns) {
  const absl::string_view place =
      scope == ColumnSchema::QUERY ? "query" : "candidate";
  for (int i = 0; i < columns.size(); ++i) {
    const Column& column = columns[i];
    const std::optional<size_t> index = schema.Find(column.name());
    if (!index.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("columns.", place, "[", i, "] is '",
                       column.name().substr(0, Schema::kMostNameBytes),
                       "', must be one of the schema's columns"));
    }
    BoundColumn& bound = columns_[*index];
    if (bound.schema_->scope() != scope) {
      return absl::InvalidArgumentError(absl::StrCat(
          "column '", column.name(), "' stands among those of the ", place,
          ", must stand among those of the ",
          bound.one_value_ ? "query" : "candidate"));
    }
    if (bound.column_ != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "column '", column.name(), "' is there twice, must be once"));
    }
    const uint32_t num_rows = bound.one_value_ ? 1 : num_candidates_;
    RETURN_IF_ERROR(CheckColumnValues(*bound.schema_, column, num_rows));
    bound.column_ = &column;
    if (!column.missing().empty()) bound.missing_.resize(num_rows);
    for (const uint32_t row : column.missing()) bound.missing_[row] = 1;
  }
  return absl::OkStatus();
}

}  // namespace sortition
