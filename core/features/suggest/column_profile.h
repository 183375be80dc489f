#pragma once
// Describes the values of named columns, in memory that does not grow with
// their number.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/features/schema/bound_columns.h"
#include "core/features/schema/schema.h"
#include "sortition/model/v1/features.pb.h"
#include "sortition/v1/columns.pb.h"

namespace sortition {

// Estimates the number of distinct values from the kMost smallest hashes
// [BarYossefEtAl02]: exact up to kMost values, then
// with a relative standard error of 1/√kMost = 3 %. The order of the values
// does not count.
class DistinctSample {
 public:
  static constexpr size_t kMost = 1024;
  static constexpr size_t kMostBytes = 1000;  // Kept of each value.

  void Add(absl::string_view value);
  double Estimate() const;
  // Returns a uniform sample of the distinct values, by hash, each cut to
  // kMostBytes.
  const std::map<uint64_t, std::string>& values() const { return values_; }

 private:
  std::map<uint64_t, std::string> values_;
};

// Quantiles of numbers with a relative error of 1 %: counts in bins between
// powers of 1.02. The order of the numbers does not count.
class QuantileBins {
 public:
  void Add(double value);
  // Requires at least one number, and a share in [0, 1].
  double Quantile(double share) const;

 private:
  std::map<int, uint64_t> counts_;
  uint64_t count_ = 0;
};

// The values of one column. Counts are of rows: of candidates, or of queries
// for a column of the query.
struct ColumnProfile {
  std::string name;
  model::v1::ColumnSchema::Type type = model::v1::ColumnSchema::NUMBER;
  model::v1::ColumnSchema::Scope scope = model::v1::ColumnSchema::CANDIDATE;
  uint32_t size = 0;  // VECTOR only.
  // "NUMBER in 812 requests, TEXT in 30 requests" where more than 1 % of the
  // requests disagree about type, scope or size; the values described are those
  // of most requests.
  std::string conflict;
  // "TEXT in 3 requests" where so few disagree that the others count.
  std::string odd;
  uint64_t num_queries = 0;  // That have the column.
  uint64_t num_values = 0;   // That are not missing.
  uint64_t num_missing = 0;
  // Number of distinct values, for sets of the values in them; 0 for vectors.
  double num_distinct = 0;
  uint64_t num_set_values = 0;
  // Queries with two candidates or more, and those whose candidates differ.
  uint64_t num_compared = 0;
  uint64_t num_varying = 0;
  // Numbers.
  bool is_integer = false;
  double min = 0;
  double max = 0;
  double median = 0;
  double high = 0;  // 99 % of the numbers are at most this.
  // Shares of a sample of the distinct strings.
  double like_numbers = 0;
  double like_dates = 0;
  double like_questions = 0;
  // Words of the same sample.
  double mean_words = 0;
  double stop_words = 0;  // Share of the words that are English stop words.

  double missing_share() const {
    const uint64_t rows = num_values + num_missing;
    return rows == 0
               ? 0
               : static_cast<double>(num_missing) / static_cast<double>(rows);
  }
};

// The columns of a log or a file.
struct ColumnProfiles {
  uint64_t num_queries = 0;
  uint64_t num_candidates = 0;
  // Ordered by scope, those of the query first, and by name.
  std::vector<ColumnProfile> columns;
};

// Describes the columns of many queries. The result does not depend on the
// order of the queries. Not thread-safe.
class ColumnProfiler {
 public:
  ColumnProfiler();
  ~ColumnProfiler();

  // Adds a query. InvalidArgument, and nothing is added, where the columns are
  // malformed, as BoundColumns::Bind(). Columns beyond the Schema::kMostColumns
  // that were there first are ignored.
  absl::Status Add(const sortition::v1::Columns& columns);

  uint64_t num_queries() const { return num_queries_; }
  ColumnProfiles Finish() const;

 private:
  struct State;
  struct Column;

  void AddColumn(const model::v1::ColumnSchema& schema,
                 const BoundColumn& column, uint32_t num_candidates);

  uint64_t num_queries_ = 0;
  uint64_t num_candidates_ = 0;
  std::map<std::string, std::unique_ptr<Column>> columns_;  // By name.
  // Of the last query: mostly the next one has the same columns.
  std::unique_ptr<const Schema> schema_;
  BoundColumns bound_;
};

}  // namespace sortition
