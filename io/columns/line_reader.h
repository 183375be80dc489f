#pragma once
// What the readers of labelled columns have in common: lines in, queries out.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "io/columns/labelled_columns.h"
#include "io/columns/query_builder.h"
#include "io/text/input_lines.h"

namespace sortition {

class LineReader : public LabelledColumnsReader {
 public:
  absl::StatusOr<bool> Next(LabelledColumns* query) final;
  uint64_t bytes_read() const final { return lines_->bytes_read(); }

 protected:
  LineReader(std::string path, std::unique_ptr<InputLines> lines,
             const Schema& schema)
      : schema_(schema),
        builder_(schema),
        path_(std::move(path)),
        lines_(std::move(lines)) {}

  // Adds a line to the builder, and calls FinishQuery() where a query ends.
  virtual absl::Status Add(const InputLine& line) = 0;
  // Ends the query that the builder holds, if it holds one.
  absl::Status FinishQuery() { return builder_.Finish(&finished_); }

  const Schema& schema_;
  QueryBuilder builder_;

 private:
  const std::string path_;
  const std::unique_ptr<InputLines> lines_;
  std::vector<LabelledColumns> finished_;  // At most one query.
  uint64_t line_number_ = 0;
  bool at_end_ = false;
};

// Reads all queries of `reader`, or returns its error.
absl::StatusOr<std::vector<LabelledColumns>> ReadAll(
    absl::StatusOr<std::unique_ptr<LabelledColumnsReader>> reader);

}  // namespace sortition
