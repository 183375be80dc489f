#pragma once
// Labelled queries from LETOR/SVMlight text: "label qid:Q 1:v 2:v … # comment".
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

// One query with its candidates as dense rows.
struct LabelledQuery {
  std::string id;
  std::vector<float> features;       // Row-major, relevance.size() × d.
  std::vector<uint32_t> relevances;  // One per candidate.
  // Of each candidate, its place among all of the file, from 0. Empty where
  // the query was not read. ReadLabelledData(): of all files.
  std::vector<uint32_t> file_rows = {};
};

struct LabelledQueries {
  uint32_t num_features = 0;  // d: the largest feature number seen.
  std::vector<LabelledQuery> queries;
};

// Candidates of a query need not be adjacent; queries keep the order of their
// first line. InvalidArgument names line and column of what cannot be read.
absl::StatusOr<LabelledQueries> ParseLetor(absl::string_view text);
absl::StatusOr<LabelledQueries> ReadLetor(const std::string& path);

// Inverse of ParseLetor; features with 9 significant digits, zeros left out but
// for the last feature of the first candidate, which keeps d.
std::string FormatLetor(const LabelledQueries& queries);

}  // namespace sortition
