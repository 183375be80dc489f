#pragma once
// Queries of LETOR/SVMlight text: "label qid:Q 1:v 2:v … # docid = ID". The id
// of a candidate is what LETOR's files have in the comment; other comments are
// not looked at.
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "trainer/scoring/query_stream.h"

namespace sortition {

// Lines with the same qid must be adjacent; otherwise Next() returns
// InvalidArgument where a query comes back, because only one query is in
// memory. To notice this takes some 32 bytes for each query. InvalidArgument
// also for a feature that the model does not have.
absl::StatusOr<std::unique_ptr<QueryStream>> OpenLetorStream(
    const std::string& path, const StreamedShape& shape);

// Returns ID of a comment with "docid = ID"; "" if it has none.
absl::string_view DocumentIdIn(absl::string_view comment);

}  // namespace sortition
