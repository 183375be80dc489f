#pragma once
// The named values of a query or a candidate as a JSON object:
//   {"sentence": "Ann.", "price": 3, "tags": ["new", "sale"], "place": [1, 2]}
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/features/schema/schema.h"
#include "io/columns/query_builder.h"
#include "io/text/json_line.h"

namespace sortition {

// Reuses its memory. The schema must outlive it.
class JsonRow {
 public:
  // If `skips_others`, members that are no columns of the schema are not looked
  // at; otherwise they are errors.
  explicit JsonRow(const Schema& schema, bool skips_others = false)
      : schema_(schema), skips_others_(skips_others) {}

  // Sets the columns that the object has: values of the query, or of the
  // candidate that comes next; null is missing. `place` is what messages call
  // it. InvalidArgument where a member not in `ignored` is no column of the
  // scope (see the constructor), is there twice, or has a value of another
  // type.
  absl::Status Read(const JsonValue& object, const std::string& place,
                    model::v1::ColumnSchema::Scope scope,
                    std::span<const absl::string_view> ignored,
                    QueryBuilder* builder);

 private:
  absl::Status ReadValue(size_t column, const std::string& path,
                         const JsonValue& value, QueryBuilder* builder);

  const Schema& schema_;
  const bool skips_others_;
  std::vector<bool> seen_;  // Columns of the object.
};

// Sets a column to the strings of an array; InvalidArgument naming `path`.
absl::Status SetJsonSet(size_t column, const std::string& path,
                        const JsonValue& array, QueryBuilder* builder);
// Sets a column to the numbers of an array; InvalidArgument naming `path`.
absl::Status SetJsonVector(size_t column, const std::string& path,
                           const JsonValue& array, QueryBuilder* builder);

}  // namespace sortition
