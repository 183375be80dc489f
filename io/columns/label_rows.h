#pragma once
// Labels of queries from files with named columns, without a schema: what is
// needed to judge scores that come from another file.
#include <string>

#include "absl/status/statusor.h"
#include "core/data/labelled_queries.h"

namespace sortition {

// Reads queries and labels of a file that IsColumnFile(). The queries have
// neither features nor columns. Which lines are a query, and where their labels
// are, is as in labelled_columns.h; other columns are not looked at.
// InvalidArgument names file and line of what cannot be read.
absl::StatusOr<LabelledQueries> ReadLabelRows(const std::string& path);

}  // namespace sortition
