#pragma once
// A named value as a field of CSV: a number, a category or a text as it is, the
// values of a set with | between, the numbers of a vector with spaces between.
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/features/schema/schema.h"
#include "io/columns/query_builder.h"

namespace sortition {

// What stands between the values of a set.
inline constexpr char kSetSeparator = '|';

// Sets the value of a column of `schema`, which is the builder's. An empty cell
// is an empty text, and leaves any other column as it is. InvalidArgument
// naming column, cell and what is permitted.
absl::Status SetCsvCell(const Schema& schema, size_t column,
                        absl::string_view cell, QueryBuilder* builder);

}  // namespace sortition
