#pragma once
// Named columns as text. The columns are those that a tuple has.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/export/exporter.h"
#include "core/features/schema/bound_columns.h"
#include "core/features/schema/schema.h"

namespace sortition {

// The columns of a CSV file that named columns have: candidate.NAME and
// query.NAME, by names, and before them `missing_columns` and `absent_columns`,
// which list the columns that have no value in a line, and that the decision
// does not have.
class NamedCells {
 public:
  // Adds the columns of a tuple to the header. False, adding none, where they
  // are malformed.
  bool Survey(const log::v1::Decision& decision);
  bool empty() const { return places_.empty(); }
  // Each name has a comma before it.
  void AppendHeader(std::string* out) const;

  // Begins a tuple; returns why the cells cannot say what it has, or nothing.
  absl::string_view Begin(const TupleView& view);
  // Appends the cells of one of its candidates, as the header.
  void AppendRow(uint32_t document_index, std::string* out) const;

 private:
  // Scope, candidates first; name.
  using Key = std::pair<model::v1::ColumnSchema::Scope, std::string>;

  UndeclaredColumns surveyed_;
  // To the place in the schema of the tuple that was begun; -1: absent.
  std::map<Key, int> places_;
  const BoundColumns* columns_ = nullptr;
  const Schema* schema_ = nullptr;
  std::string absent_;
};

// Returns why a tuple's columns cannot be namespaces of dsjson, or nothing.
absl::string_view FindNoNamespace(const Schema& schema);

// Appends `"column":value` of a row as Vowpal Wabbit has it, with the column as
// namespace: {"price":3}, {"red":1}, {"new":1,"sale":1}, {"_text":"Ann."},
// [1,2]; null where it is missing.
void AppendNamespace(const model::v1::ColumnSchema& schema,
                     const BoundColumn& column, uint32_t row, std::string* out);

}  // namespace sortition
