#include "io/columns/undeclared_columns.h"

#include <cstddef>
#include <utility>

#include "core/base/status_macros.h"
#include "core/features/schema/inferred_schema.h"

namespace sortition {

absl::Status UndeclaredColumns::Bind(const sortition::v1::Columns& columns) {
  // An inferred schema suits columns that it has, all of them and no others.
  const auto size =
      static_cast<size_t>(columns.candidate_size() + columns.query_size());
  if (schema_ != nullptr && schema_->size() == size &&
      bound_.Bind(*schema_, columns).ok()) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(Schema schema, InferSchema(columns));
  schema_ = std::make_unique<const Schema>(std::move(schema));
  return bound_.Bind(*schema_, columns);
}

}  // namespace sortition
