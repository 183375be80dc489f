#pragma once
// The queries of a data file of any size, one after the other.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/features/schema/schema.h"
#include "io/columns/labelled_columns.h"
#include "io/datasets/svmlight_line.h"
#include "sortition/v1/columns.pb.h"

namespace sortition {

// One query, with features as sparse rows or with named columns.
struct StreamedQuery {
  std::string id;
  uint64_t line = 0;  // Where it begins in the file, from 1.
  // Features, as SparseFeatures in ranking.proto has them.
  std::vector<uint32_t> row_offsets;
  std::vector<uint32_t> columns;
  std::vector<float> values;
  // Set instead, for a model with a schema.
  std::unique_ptr<sortition::v1::Columns> named_columns;
  std::vector<uint32_t> relevances;  // One for each candidate.
  bool has_labels = true;  // False: the data has none, and relevances are 0.
  // One for each candidate, some of them perhaps ""; empty: the data has none.
  std::vector<std::string> candidate_ids;
};

// Not thread-safe.
class QueryStream {
 public:
  virtual ~QueryStream() = default;
  // Reads the next query. Returns false at the end of the file. InvalidArgument
  // names file and line.
  virtual absl::StatusOr<bool> Next(StreamedQuery* query) = 0;
  // Returns the number of bytes of the file that were read so far.
  virtual uint64_t bytes_read() const = 0;
  // Returns the number of values so far that were no finite floats.
  virtual uint64_t extreme_values() const { return 0; }
};

// What a model takes.
struct StreamedShape {
  uint32_t num_features = 0;       // Of rows, where there is no schema.
  const Schema* schema = nullptr;  // Of named columns. Outlives the stream.
  SvmlightOptions svmlight = {};   // How features in LETOR/SVMlight are read.
};

// Opens a file by the end of its name: .tsv, .csv and .jsonl have named columns
// (labelled_columns.h), others are LETOR/SVMlight with qid; "-" is LETOR on
// stdin. InvalidArgument for a file of the kind that the model does not take.
absl::StatusOr<std::unique_ptr<QueryStream>> OpenQueryStream(
    const std::string& path, const StreamedShape& shape,
    const LabelledNames& names);

}  // namespace sortition
