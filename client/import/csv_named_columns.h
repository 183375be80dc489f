#pragma once
// The named columns of a decision, line by line of a CSV file.
#include <vector>

#include "absl/status/status.h"
#include "client/import/csv_cells.h"
#include "core/features/schema/schema.h"
#include "io/columns/query_builder.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// An empty cell is an empty text, and of other types a missing value. A file
// that `log export` wrote lists what is missing, so that it has missing texts
// and empty sets too, and what is absent. The schema must outlive this.
class CsvNamedColumns {
 public:
  explicit CsvNamedColumns(const Schema& schema)
      : schema_(schema), builder_(schema) {}

  // Takes the next candidate's values; those of the query at the first line of
  // the decision. Errors name the column, its cell and what is permitted.
  absl::Status AddLine(const CsvCells& cells, bool is_first);

  // Ends the decision and sets its columns. InvalidArgument as
  // BoundColumns::Bind().
  absl::Status Finish(log::v1::Decision* decision);

 private:
  // Marks the columns whose names a cell lists.
  void ReadNames(const CsvCells& cells, int place, std::vector<bool>* named);
  absl::Status AddCell(const CsvCells& cells, size_t column);

  const Schema& schema_;
  QueryBuilder builder_;
  std::vector<bool> missing_;  // In the line, by the schema's columns.
  std::vector<bool> absent_;
};

}  // namespace sortition
