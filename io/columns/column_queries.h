#pragma once
// Labelled queries with named columns, from a file of any of the formats of
// labelled_columns.h.
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/data/labelled_queries.h"
#include "core/features/schema/schema.h"

namespace sortition {

// Whether the name is that of such a file: it ends in .tsv (ReadQuestionTsv()),
// .csv (ReadColumnsCsv()) or .jsonl (ReadColumnsJson()).
bool IsColumnFile(absl::string_view path);

// Reads a file by the end of its name. The queries have columns, and no
// features. InvalidArgument for another name, and as the readers.
absl::StatusOr<LabelledQueries> ReadColumnQueries(const std::string& path,
                                                  const Schema& schema);

}  // namespace sortition
