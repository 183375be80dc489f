#pragma once
// The columns of a data file that has no schema: types and scopes as its values
// suggest.
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "io/columns/labelled_columns.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {

struct InferredColumns {
  // Each column may be absent. Empty if no column can be read.
  model::v1::Schema schema;
  // Columns that cannot be read, by name, with the reason.
  std::vector<std::pair<std::string, std::string>> left_out;
};

// Reads a whole file that IsColumnFile().
//
// Tab-separated questions have the TEXT columns question and sentence. In CSV a
// column is of the query if its value never changes within one; it is a NUMBER
// if all its values are, unless one has a leading zero; a VECTOR if all are as
// many numbers with spaces between; a CATEGORY_SET if values are separated by
// '|'; a TEXT if values have several words; otherwise a CATEGORY. In JSON the
// types of values say most; strings are told apart as in CSV. The column that
// names the query is a column only if it is a TEXT. InvalidArgument names file
// and line of what cannot be read.
absl::StatusOr<InferredColumns> InferColumns(const std::string& path,
                                             const LabelledNames& names = {});

}  // namespace sortition
