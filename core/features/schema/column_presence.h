#pragma once
// Counts in which queries of a log the columns of a schema are absent.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/features/schema/schema.h"
#include "sortition/model/v1/features.pb.h"
#include "sortition/v1/columns.pb.h"

namespace sortition {

// Counts the queries of a log that lack columns of a schema. Queries that were
// logged before callers sent a column lack it; a version that reads the column
// then takes it for missing. Not thread-safe.
class ColumnPresence {
 public:
  // `schema` must outlive it.
  explicit ColumnPresence(const Schema& schema);

  void Add(const sortition::v1::Columns& columns);

  uint64_t num_queries() const { return num_queries_; }
  // Returns the number of queries that lack the column of this index.
  uint64_t NumAbsent(size_t column) const { return num_absent_[column]; }
  // Returns the indexes of the columns without a default that at least one
  // query lacks.
  std::vector<size_t> AbsentWithoutDefault() const;
  // Returns by name the number of queries that lack each of those columns.
  std::map<std::string, uint64_t> Counts() const;
  // Returns those columns as "stock (absent from 9.02 %), colour (100 %)".
  std::string AbsentText() const;

 private:
  const Schema& schema_;
  uint64_t num_queries_ = 0;
  std::vector<uint64_t> num_absent_;  // By column.
  std::vector<uint8_t> is_there_;     // Columns of the last query.
};

}  // namespace sortition
