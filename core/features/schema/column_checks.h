#pragma once
// Checks of the columns of a request.
#include <cstdint>

#include "absl/status/status.h"
#include "sortition/model/v1/features.pb.h"
#include "sortition/v1/columns.pb.h"

namespace sortition {

// Returns the type of the values that a column holds, TYPE_UNSPECIFIED for
// none.
model::v1::ColumnSchema::Type TypeOf(const sortition::v1::Column& column);

// InvalidArgument if the column has values of another type, or vectors of
// another size, than declared.
absl::Status CheckType(const model::v1::ColumnSchema& schema,
                       const sortition::v1::Column& column);

// InvalidArgument if the column has no values, does not have one for each row,
// or has one that breaks a rule (bound_columns.h). The message names the
// column, the value and the rule.
absl::Status CheckColumnValues(const sortition::v1::Column& column,
                               uint32_t num_rows);

// InvalidArgument if num_candidates is out of its range.
absl::Status CheckNumCandidates(const sortition::v1::Columns& columns);

// Checks all columns of a request, whatever version reads them. InvalidArgument
// as CheckNumCandidates() and CheckColumnValues(), and if there are no columns,
// too many, one with an invalid name, or two with one name.
absl::Status CheckColumns(const sortition::v1::Columns& columns);

}  // namespace sortition
