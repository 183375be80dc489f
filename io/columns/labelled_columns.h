#pragma once
// Labelled queries with named columns, from text files. Every query is checked
// against the schema. Errors are InvalidArgument and name file, line and
// column.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/features/schema/schema.h"
#include "sortition/v1/columns.pb.h"

namespace sortition {

inline constexpr uint32_t kMostRelevance = 31;

struct LabelledColumns {
  std::string id;
  sortition::v1::Columns columns;
  std::vector<uint32_t> relevances;  // One per candidate, at most
                                     // kMostRelevance.
  uint64_t line = 0;                 // Where it begins, from 1.
};

// Which columns a file's lines hold that are not of the schema.
struct LabelledNames {
  std::string query = "query";  // CSV: lines with the same value that are
                                // neighbours are one query.
  std::string label = "label";  // The relevance.
};

// Tab-separated lines "question, sentence, label" without a header; quotes mean
// nothing. Neighbouring lines with the same question are one query. The schema
// has one TEXT column of the query and one of the candidates; others must have
// a default.
absl::StatusOr<std::vector<LabelledColumns>> ReadQuestionTsv(
    const std::string& path, const Schema& schema);

// Comma-separated with a header (RFC 4180). Columns that the schema does not
// have are left out. An empty field is a missing number, category, vector or
// set, or an empty text. Sets are separated by '|', numbers of a vector by
// spaces. A column of the query must have the same value in all its lines.
absl::StatusOr<std::vector<LabelledColumns>> ReadColumnsCsv(
    const std::string& path, const Schema& schema,
    const LabelledNames& names = {});

// A JSON object a line, a query each:
//   {"id": "q7", "query": {"question": "Who?"},
//    "candidates": [{"sentence": "Ann.", "price": 3, "label": 1}, ..]}
// Sets are arrays of strings, vectors arrays of numbers. Null is missing, and
// so is what only other candidates have. A column that no candidate has is
// absent.
absl::StatusOr<std::vector<LabelledColumns>> ReadColumnsJson(
    const std::string& path, const Schema& schema,
    const LabelledNames& names = {});

}  // namespace sortition
