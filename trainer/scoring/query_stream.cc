#include "trainer/scoring/query_stream.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "io/columns/column_queries.h"
#include "trainer/scoring/column_stream.h"
#include "trainer/scoring/letor_stream.h"

namespace sortition {

absl::StatusOr<std::unique_ptr<QueryStream>> OpenQueryStream(
    const std::string& path, const StreamedShape& shape,
    const LabelledNames& names) {
  const bool has_columns = IsColumnFile(path);
  if (shape.schema != nullptr && !has_columns) {
    return absl::InvalidArgumentError(
        absl::StrCat("--data has '", path,
                     "', must end in .tsv, .csv or .jsonl: the model has a "
                     "schema, and makes "
                     "features of named columns"));
  }
  if (shape.schema == nullptr && has_columns) {
    return absl::InvalidArgumentError(
        absl::StrCat("--data has '", path,
                     "' with named columns, must be LETOR/SVMlight: the model "
                     "has no schema, "
                     "and takes ",
                     shape.num_features, " features"));
  }
  return has_columns ? OpenColumnStream(path, *shape.schema, names)
                     : OpenLetorStream(path, shape);
}

}  // namespace sortition
