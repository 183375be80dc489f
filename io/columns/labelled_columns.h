#pragma once
// Labelled queries with named columns, from text files. Every query is checked
// against the schema. Errors are InvalidArgument and name file, line and
// column.
#include <cstdint>
#include <memory>
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
  // Ids of the candidates; empty where the file has none.
  std::vector<std::string> candidate_ids;
  bool has_labels = true;  // False: relevances are 0 because labels are absent.
  uint64_t line = 0;       // Where it begins, from 1.
};

// Which columns a file's lines hold that are not of the schema.
struct LabelledNames {
  std::string query = "query";  // CSV: lines with the same value that are
                                // neighbours are one query.
  std::string label = "label";  // The relevance.
  std::string id = "";          // CSV, JSON: the id of a candidate; "": none.
  // Whether CSV may lack the column of the label, and the third field of a line
  // of tab-separated questions may be left out.
  bool may_lack_labels = false;
  bool may_lack_ids = true;  // Whether CSV may lack the column of the id.
};

// Reads the queries of a file one after the other, so that the file may be of
// any size. Not thread-safe. The schema must outlive the reader.
class LabelledColumnsReader {
 public:
  virtual ~LabelledColumnsReader() = default;
  // Reads the next query. Returns false at the end of the file.
  virtual absl::StatusOr<bool> Next(LabelledColumns* query) = 0;
  // Returns the number of bytes of the file that were read so far.
  virtual uint64_t bytes_read() const = 0;
};

// Tab-separated lines "question, sentence, label" without a header; quotes mean
// nothing. Neighbouring lines with the same question are one query. The schema
// has one TEXT column of the query and one of the candidates; others must have
// a default.
absl::StatusOr<std::unique_ptr<LabelledColumnsReader>> OpenQuestionTsv(
    const std::string& path, const Schema& schema,
    const LabelledNames& names = {});

// Comma-separated with a header (RFC 4180). Columns that the schema does not
// have are left out. An empty field is a missing number, category, vector or
// set, or an empty text. Sets are separated by '|', numbers of a vector by
// spaces. A column of the query must have the same value in all its lines.
absl::StatusOr<std::unique_ptr<LabelledColumnsReader>> OpenColumnsCsv(
    const std::string& path, const Schema& schema,
    const LabelledNames& names = {});

// A JSON object a line, a query each:
//   {"id": "q7", "query": {"question": "Who?"},
//    "candidates": [{"sentence": "Ann.", "price": 3, "label": 1}, ..]}
// Sets are arrays of strings, vectors arrays of numbers. Null is missing, and
// so is what only other candidates have. A column that no candidate has is
// absent; members that are no columns of the schema are left out. A candidate
// without a label has relevance 0.
absl::StatusOr<std::unique_ptr<LabelledColumnsReader>> OpenColumnsJson(
    const std::string& path, const Schema& schema,
    const LabelledNames& names = {});

// Each reads a whole file.
absl::StatusOr<std::vector<LabelledColumns>> ReadQuestionTsv(
    const std::string& path, const Schema& schema);
absl::StatusOr<std::vector<LabelledColumns>> ReadColumnsCsv(
    const std::string& path, const Schema& schema,
    const LabelledNames& names = {});
absl::StatusOr<std::vector<LabelledColumns>> ReadColumnsJson(
    const std::string& path, const Schema& schema,
    const LabelledNames& names = {});

}  // namespace sortition
