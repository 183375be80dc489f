#pragma once
// The columns of queries that come without a schema, as in a log.
#include <memory>

#include "absl/status/status.h"
#include "core/features/schema/bound_columns.h"
#include "core/features/schema/schema.h"
#include "sortition/v1/columns.pb.h"

namespace sortition {

// Reused for many queries. Not thread-safe.
class UndeclaredColumns {
 public:
  // Makes this a view of `columns` and of a schema that says what they are.
  // InvalidArgument as InferSchema() and BoundColumns::Bind(): whatever the
  // columns hold, they can be read afterwards.
  absl::Status Bind(const sortition::v1::Columns& columns);

  // Require that the last columns were bound. The schema's columns are those
  // of the query, each once.
  const Schema& schema() const { return *schema_; }
  const BoundColumns& columns() const { return bound_; }

 private:
  // Of the last query: mostly the next one has the same columns.
  std::unique_ptr<const Schema> schema_;
  BoundColumns bound_;
};

}  // namespace sortition
