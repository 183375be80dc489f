#pragma once
// Puts the columns of a query together, cell by cell.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/features/schema/bound_columns.h"
#include "core/features/schema/schema.h"
#include "io/columns/labelled_columns.h"

namespace sortition {

// Not thread-safe; the schema must outlive it.
class QueryBuilder {
 public:
  explicit QueryBuilder(const Schema& schema) : schema_(schema) {}

  // Begins a query.
  void Start(std::string id, uint64_t line);
  // Returns whether the query that was begun last, and not ended, is this one.
  bool holds(absl::string_view id) const { return started_ && query_.id == id; }
  uint32_t num_candidates() const {
    return static_cast<uint32_t>(query_.relevances.size());
  }

  // Sets a value of the query, or of the candidate that comes next. Each column
  // is set at most once a row, and holds the type of the method; rows that are
  // left out are missing. A column that is never set is absent.
  void SetNumber(size_t column, double value);
  void SetText(size_t column, absl::string_view value);  // CATEGORY, TEXT.
  void SetSet(size_t column, std::span<const absl::string_view> values);
  // InvalidArgument where it has not as many numbers as the schema says.
  absl::Status SetVector(size_t column, std::span<const float> values);
  void SetMissing(size_t column);

  // Sets the id of the candidate that comes next.
  void SetCandidateId(absl::string_view id);
  // Ends the candidate.
  void AddCandidate(uint32_t relevance = 0);
  // Ends a candidate without a label. A query without any label has
  // has_labels = false.
  void AddUnlabelledCandidate();

  // Ends the query, if one was begun, and appends it to `queries`.
  // InvalidArgument as BoundColumns::Bind().
  absl::Status Finish(std::vector<LabelledColumns>* queries);
  // Ends the query that was begun, and moves its columns out. Errors as above.
  absl::Status Finish(sortition::v1::Columns* columns);

 private:
  // Completes the columns of the query and checks them.
  absl::Status Complete();
  // Returns the column with all rows before the next one filled up.
  sortition::v1::Column* At(size_t column);
  // Appends a missing row to a column.
  void AppendMissing(const model::v1::ColumnSchema& schema,
                     sortition::v1::Column* column) const;
  uint32_t NumRows(const sortition::v1::Column& column,
                   const model::v1::ColumnSchema& schema) const;

  const Schema& schema_;
  bool started_ = false;
  uint32_t num_unlabelled_ = 0;
  LabelledColumns query_;
  std::vector<sortition::v1::Column*> columns_;  // Null: absent so far.
  BoundColumns bound_;
};

// Returns the relevance in `text`; InvalidArgument unless it is an integer in
// [0, kMostRelevance].
absl::StatusOr<uint32_t> ParseRelevance(absl::string_view text);

// Puts "FILE:LINE: " before the message of an error.
absl::Status AtLine(const absl::Status& status, const std::string& path,
                    uint64_t line);

}  // namespace sortition
