#pragma once
// Named columns from the forms in which JSON has them: a list of objects, or an
// object of lists.
#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/http/json/json_tree.h"
#include "sortition/model/v1/features.pb.h"
#include "sortition/v1/columns.pb.h"

namespace sortition {

// The types that the schema of a model declares, by name; empty: the model has
// no schema.
using ColumnTypes =
    absl::flat_hash_map<std::string, model::v1::ColumnSchema::Type>;

// A column that the schema declares has its type. Otherwise the values of the
// column decide, which must then be of one kind: numbers, true and false (1 and
// 0) are NUMBER, texts TEXT, lists of texts CATEGORY_SET, lists of numbers
// VECTOR. Null, or an object without the field, is a missing value. A column
// without any value, whose type is not known, is left out.

// Adds a candidate column for each field of the objects in `rows`, a list with
// an entry per candidate; a text counts as the object {"text": TEXT}. Sets
// num_candidates. InvalidArgument names the place, which is at `path`.
absl::Status AddRows(const JsonValue& rows, const ColumnTypes& types,
                     JsonPath* path, v1::Columns* columns);

// Adds a column for each field of the object `lists`: a candidate column where
// the field is a list of values, one per candidate, and a query column where it
// is one value. Sets num_candidates if there are lists.
absl::Status AddLists(const JsonValue& lists, const ColumnTypes& types,
                      JsonPath* path, v1::Columns* columns);

// Adds a query column for each field of the object `values`. A list is then one
// value.
absl::Status AddQueryValues(const JsonValue& values, const ColumnTypes& types,
                            JsonPath* path, v1::Columns* columns);

// Returns how many values `column` has.
size_t NumValues(const v1::Column& column);

}  // namespace sortition
