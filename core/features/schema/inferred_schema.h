#pragma once
// The schema of columns that nobody has declared.
#include "absl/status/statusor.h"
#include "core/features/schema/schema.h"
#include "sortition/v1/columns.pb.h"

namespace sortition {

// Returns the schema that says no more than that these columns are there:
// names, types, scopes and sizes. InvalidArgument where Schema::Create() would
// refuse it, or a column has no values, whose type nobody knows.
absl::StatusOr<Schema> InferSchema(const sortition::v1::Columns& columns);

}  // namespace sortition
