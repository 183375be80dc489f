#pragma once
// Queries of files with named columns (labelled_columns.h).
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/scoring/query_stream.h"

namespace sortition {

// Requires a file that IsColumnFile(). The schema must outlive the stream.
absl::StatusOr<std::unique_ptr<QueryStream>> OpenColumnStream(
    const std::string& path, const Schema& schema, const LabelledNames& names);

}  // namespace sortition
