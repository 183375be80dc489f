#include "io/columns/undeclared_columns.h"

#include <utility>

#include "core/base/status_macros.h"
#include "core/features/schema/inferred_schema.h"

namespace sortition {

absl::Status UndeclaredColumns::Bind(const sortition::v1::Columns& columns) {
  // A column that an inferred schema has may not be absent.
  if (schema_ != nullptr && bound_.Bind(*schema_, columns).ok()) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(Schema schema, InferSchema(columns));
  schema_ = std::make_unique<const Schema>(std::move(schema));
  return bound_.Bind(*schema_, columns);
}

}  // namespace sortition
