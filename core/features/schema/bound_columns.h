#pragma once
// The columns of one request in the order of a schema.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/features/schema/schema.h"
#include "google/protobuf/repeated_field.h"
#include "sortition/v1/columns.pb.h"

namespace sortition {

// Limits of one request.
inline constexpr uint32_t kMostRows = 1000000;
inline constexpr size_t kMostCategoryBytes = 256;
inline constexpr size_t kMostTextBytes = 65536;
inline constexpr uint32_t kMostSetValues = 1000;

// One column, checked. A view.
class BoundColumn {
 public:
  // Rows of the methods below are candidates; of a column of the query, any
  // row stands for its one value.
  bool Missing(uint32_t row) const;
  // Require the type, and a value that is not missing.
  double Number(uint32_t row) const;
  absl::string_view Text(uint32_t row) const;  // CATEGORY and TEXT.
  std::span<const std::string* const> Set(uint32_t row) const;
  std::span<const float> Vector(uint32_t row) const;

 private:
  friend class BoundColumns;

  size_t Place(uint32_t row) const { return one_value_ ? 0 : row; }

  const model::v1::ColumnSchema* schema_ = nullptr;
  const sortition::v1::Column* column_ = nullptr;  // Null: absent.
  bool one_value_ = false;
  std::vector<uint8_t> missing_;  // By row; empty: none is listed.
};

struct BindOptions {
  // True: a column that is absent and has no default counts as missing. For
  // logs of requests that were made before a version read the column.
  bool absent_is_missing = false;
  // False: CheckColumns() has accepted the columns, so that their values need
  // no second check.
  bool check_values = true;
};

// The columns of a request that a schema has. The request may have others,
// which are not looked at. Reused for many requests. Not thread-safe.
class BoundColumns {
 public:
  // Checks `columns` and makes this a view of them and of `schema`, which must
  // outlive it. InvalidArgument, naming column, value and rule, where a column
  // of the schema is there twice, in the wrong scope, of another type or count
  // than declared, or absent without a default, or where a value is beyond its
  // limits, not finite, not UTF-8, an empty category or twice in its set.
  absl::Status Bind(const Schema& schema, const sortition::v1::Columns& columns,
                    const BindOptions& options = {});

  uint32_t num_candidates() const { return num_candidates_; }
  // In the order of the schema.
  const BoundColumn& column(size_t index) const { return columns_[index]; }
  size_t size() const { return columns_.size(); }

 private:
  absl::Status BindScope(
      const Schema& schema, model::v1::ColumnSchema::Scope scope,
      const google::protobuf::RepeatedPtrField<sortition::v1::Column>& columns,
      bool check_values);

  uint32_t num_candidates_ = 0;
  std::vector<BoundColumn> columns_;
};

}  // namespace sortition
