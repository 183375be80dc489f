#include "core/features/schema/inferred_schema.h"

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/features/schema/column_checks.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;
using sortition::v1::Column;

absl::Status Declare(const google::protobuf::RepeatedPtrField<Column>& columns,
                     ColumnSchema::Scope scope, model::v1::Schema* declared) {
  for (const Column& column : columns) {
    const ColumnSchema::Type type = TypeOf(column);
    if (type == ColumnSchema::TYPE_UNSPECIFIED) {
      return absl::InvalidArgumentError(absl::StrCat(
          "column '", column.name().substr(0, Schema::kMostNameBytes),
          "' has no values, must have numbers, categories, category_sets, "
          "texts or vectors"));
    }
    ColumnSchema& entry = *declared->add_column();
    entry.set_name(column.name());
    entry.set_type(type);
    entry.set_scope(scope);
    if (column.has_vectors()) entry.set_size(column.vectors().size());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Schema> InferSchema(const sortition::v1::Columns& columns) {
  model::v1::Schema declared;
  RETURN_IF_ERROR(
      Declare(columns.candidate(), ColumnSchema::CANDIDATE, &declared));
  RETURN_IF_ERROR(Declare(columns.query(), ColumnSchema::QUERY, &declared));
  return Schema::Create(declared);
}

}  // namespace sortition
