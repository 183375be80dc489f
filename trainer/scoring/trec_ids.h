#pragma once
// Ids in TREC files, whose fields are separated by white space.
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "trainer/scoring/query_stream.h"

namespace sortition {

// InvalidArgument, naming `what`, if `id` is empty or has white space.
absl::Status CheckTrecId(absl::string_view what, absl::string_view id);

// Returns the id of each candidate, or its document index where the query has
// no ids. InvalidArgument if the id of the query or of a candidate cannot be in
// a TREC file, or two candidates have the same id.
absl::StatusOr<std::vector<std::string>> TrecIdsOf(const StreamedQuery& query);

}  // namespace sortition
