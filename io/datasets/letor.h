#pragma once
// Labelled queries from LETOR/SVMlight text: "label qid:Q 1:v 2:v … # comment".
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/data/labelled_queries.h"

namespace sortition {

// Candidates of a query need not be adjacent; queries keep the order of their
// first line. InvalidArgument names line and column of what cannot be read.
absl::StatusOr<LabelledQueries> ParseLetor(absl::string_view text);
absl::StatusOr<LabelledQueries> ReadLetor(const std::string& path);

// Inverse of ParseLetor; features with 9 significant digits, zeros left out but
// for the last feature of the first candidate, which keeps d.
std::string FormatLetor(const LabelledQueries& queries);

}  // namespace sortition
