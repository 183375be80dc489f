#pragma once
// Reads labelled queries from LETOR/SVMlight text: "label qid:Q 1:v 2:v … #
// comment".
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/data/labelled_queries.h"

namespace sortition {

// Candidates of a query need not be adjacent; queries are in the order of their
// first lines. InvalidArgument, naming line and column, if something cannot be
// parsed.
absl::StatusOr<LabelledQueries> ParseLetor(absl::string_view text);
absl::StatusOr<LabelledQueries> ReadLetor(const std::string& path);

// The inverse of ParseLetor. Features have 9 significant digits. Zeros are
// omitted, except for the last feature of the first candidate, which keeps the
// number of features.
std::string FormatLetor(const LabelledQueries& queries);

}  // namespace sortition
