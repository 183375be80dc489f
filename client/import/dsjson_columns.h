#pragma once
// The named columns of a dsjson context, by a schema.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/features/schema/schema.h"
#include "io/columns/query_builder.h"
#include "io/text/json_line.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// A column is the namespace of its name, at any depth of the context or of the
// candidates; or, if there is none and the name has a dot, a feature that is
// directly in a namespace, as `User.age`. Namespaces are those of
// DsjsonFeatures. By its type a column is read from
//   a number: 3, {"price": 3}, or true and false
//   a category: "red", {"red": 1}, {"color": "red"}
//   a set: {"new": 1, "sale": 1}, ["new", "sale"]; {"id": "u7"} is the member
//     id=u7, and what is 0, false or null is no member
//   a text: "Ann.", {"_text": "Ann."}
//   a vector: [1, 2]
// null is missing. Other namespaces are not read. The schema must outlive this.
class DsjsonColumns {
 public:
  explicit DsjsonColumns(const Schema& schema)
      : schema_(schema), builder_(schema) {}

  // Sets columns and number of candidates from the first `num_candidates`
  // elements of c._multi. InvalidArgument naming place, value and what is
  // permitted, also if a row has a column twice or no row has any.
  absl::Status Read(const JsonValue& context, uint32_t num_candidates,
                    log::v1::Decision* decision);

 private:
  struct Namespace {
    absl::string_view name;
    const JsonValue* value;
  };
  // Appends all namespaces in an object or an array to namespaces_.
  absl::Status FindNamespaces(const JsonValue& value, int depth);
  // Returns the value of a column in `row`, whose namespaces are namespaces_;
  // null if there is none. InvalidArgument, without a place, if there are
  // several.
  absl::StatusOr<const JsonValue*> FindColumn(const JsonValue& row,
                                              const std::string& name) const;
  // Returns an error that names the columns and the namespaces.
  absl::Status NothingFound(const JsonValue& context);
  absl::Status ReadRow(const JsonValue& object, const std::string& place,
                       model::v1::ColumnSchema::Scope scope);
  absl::Status ReadValue(size_t column, const std::string& path,
                         const JsonValue& value);
  absl::Status ReadNumber(size_t column, const std::string& path,
                          const JsonValue& value);
  absl::Status ReadCategory(size_t column, const std::string& path,
                            const JsonValue& value);
  absl::Status ReadSet(size_t column, const std::string& path,
                       const JsonValue& value);

  const Schema& schema_;
  QueryBuilder builder_;
  std::vector<Namespace> namespaces_;  // Namespaces of the current row.
  size_t num_found_ = 0;               // Columns of the decision.
};

}  // namespace sortition
