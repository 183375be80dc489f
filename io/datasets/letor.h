#pragma once
// Reads labelled queries from LETOR/SVMlight text: "label qid:Q 1:v 2:v … #
// comment". The lines of a file without qid are grouped by a group file.
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/data/labelled_queries.h"
#include "io/datasets/query_groups.h"
#include "io/datasets/svmlight_line.h"

namespace sortition {

struct LetorOptions {
  SvmlightOptions lines = {};
  // ReadLetor(): group file of a file whose lines have no qid; empty: the one
  // beside it, by name.
  std::string groups = {};
};

// Candidates of a query need not be adjacent; queries are in the order of their
// first lines. With `groups` no line may have a qid: the queries are numbered
// from 1. InvalidArgument, naming line and column, if something cannot be
// parsed, and naming both counts if the groups have more or fewer lines.
absl::StatusOr<LabelledQueries> ParseLetor(absl::string_view text,
                                           const SvmlightOptions& options = {},
                                           const QueryGroups* groups = nullptr);

// Reads a file. It looks for a group file beside it only if the first line has
// no qid. Errors name the file.
absl::StatusOr<LabelledQueries> ReadLetor(const std::string& path,
                                          const LetorOptions& options = {});

// The inverse of ParseLetor. Features have 9 significant digits. Zeros are
// omitted, except for the last feature of the first candidate, which keeps the
// number of features.
std::string FormatLetor(const LabelledQueries& queries);

}  // namespace sortition
