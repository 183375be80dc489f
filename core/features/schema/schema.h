#pragma once
// The columns that a model takes: what they are called, and what they hold.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {

// Immutable.
class Schema {
 public:
  static constexpr int kMostColumns = 1000;
  static constexpr size_t kMostNameBytes = 64;
  static constexpr uint32_t kMaxVectorSize = 4096;

  // InvalidArgument, naming column, field and what is permitted, where the
  // declaration has no column or more than kMostColumns, a name that is empty,
  // too long, used twice or with a character that names of features need
  // (white space , ( ) ~ ^ * # =), a size that does not fit the type, or a
  // default of another type.
  static absl::StatusOr<Schema> Create(const model::v1::Schema& declared);

  const model::v1::Schema& declared() const { return declared_; }
  size_t size() const { return static_cast<size_t>(declared_.column_size()); }
  // Requires index < size().
  const model::v1::ColumnSchema& column(size_t index) const {
    return declared_.column(static_cast<int>(index));
  }
  // Returns the index of the column of this name.
  std::optional<size_t> Find(absl::string_view name) const;

  // Returns 32 hexadecimal digits, a hash of all columns and what is declared
  // of them. Their order does not count.
  const std::string& hash() const { return hash_; }

 private:
  Schema() = default;

  model::v1::Schema declared_;
  absl::flat_hash_map<std::string, size_t> indexes_;
  std::string hash_;
};

// Returns why no request suits both schemas: the first column of `schema` that
// `other` declares with another type, scope or size. Returns an empty string if
// requests can suit both; each may have columns that the other one does not.
std::string FindTypeConflict(const model::v1::Schema& schema,
                             const model::v1::Schema& other);

// InvalidArgument, naming the rule, if no schema can have a column of this
// name.
absl::Status CheckColumnName(const std::string& name);

// Returns "NUMBER", "TEXT" and so on.
const std::string& TypeName(model::v1::ColumnSchema::Type type);

}  // namespace sortition
