#pragma once
// Checks of the values of one column of a request.
#include <cstdint>

#include "absl/status/status.h"
#include "sortition/model/v1/features.pb.h"
#include "sortition/v1/columns.pb.h"

namespace sortition {

// Returns the type of the values that a column holds, TYPE_UNSPECIFIED for
// none.
model::v1::ColumnSchema::Type TypeOf(const sortition::v1::Column& column);

// InvalidArgument where the values are of another type than declared, not as
// many as rows, or one breaks a rule (bound_columns.h); the message names the
// column, the value and the rule.
absl::Status CheckColumnValues(const model::v1::ColumnSchema& schema,
                               const sortition::v1::Column& column,
                               uint32_t num_rows);

}  // namespace sortition
