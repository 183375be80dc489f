#pragma once
// The cells of a CSV line by what they are.
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/import/csv_columns.h"
#include "core/base/status_macros.h"
#include "io/text/json_line.h"
#include "io/text/parse_number.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

class CsvCells {
 public:
  // Forgets the file.
  void Clear();
  // The fields are those of the header.
  absl::Status TakeHeader(const CsvMapping& mapping);

  std::vector<absl::string_view>* mutable_fields() { return &fields_; }
  const std::vector<absl::string_view>& fields() const { return fields_; }
  const std::vector<std::string>& header() const { return header_; }
  // Columns of the header that the import does not read.
  std::vector<std::string> UnusedColumns() const;
  const CsvColumns& columns() const { return columns_; }
  absl::string_view Cell(int column) const {
    return fields_[static_cast<size_t>(column)];
  }

  // An error that names the column and its cell.
  absl::Status Wrong(int column, absl::string_view permitted) const;

  // Reads a number, which must be finite, where there is such a column and its
  // cell is not empty.
  template <typename Number>
  absl::Status Read(int column, absl::string_view permitted,
                    std::optional<Number>* value) const {
    if (column < 0 || Cell(column).empty()) return absl::OkStatus();
    Number number = 0;
    if (!ParseNumber(Cell(column), &number) &&
        !ParseWhole(Cell(column), &number)) {
      return Wrong(column, permitted);
    }
    if constexpr (std::is_floating_point_v<Number>) {
      if (!std::isfinite(number)) return Wrong(column, permitted);
    }
    *value = number;
    return absl::OkStatus();
  }
  // Reads the rank of a candidate in the action, from 1; 0 or false: it was not
  // chosen; true: it is the only one that was.
  absl::Status ReadRank(int column, std::optional<uint32_t>* rank) const;
  // Reads 0 and 1, or false and true, in the same way.
  absl::Status ReadFlag(int column, bool* value) const;
  absl::Status ReadFlag(int column, std::optional<bool>* value) const {
    if (column < 0 || Cell(column).empty()) return absl::OkStatus();
    return ReadFlag(column, &value->emplace());
  }

  // Sets the attributes of the decision. Empty cells say nothing.
  absl::Status ReadAttributes(log::v1::Decision* decision);

  // Keeps what all lines of a decision say alike at its first line, which has
  // the number `first_line`. At the others, an error that names the column that
  // differs, and both values.
  absl::Status CheckShared(bool is_first, uint64_t first_line);

  // These append the features of a line to those of the decision.
  absl::Status ReadDenseRow(log::v1::Decision* decision) const;
  // A cell of "index:value index:value", with indexes from 0. `num_features` is
  // their number where no column says it.
  absl::Status ReadSparseRow(bool is_first, uint32_t num_features,
                             log::v1::Decision* decision) const;

 private:
  // Parses an integer that is written as 1.0: pandas writes columns of integers
  // so if a cell of them is missing.
  template <typename Number>
  static bool ParseWhole(absl::string_view text, Number* number) {
    double value = 0;
    if constexpr (std::is_floating_point_v<Number>) return false;
    constexpr double kMaxExact = 9007199254740992;  // 2^53.
    using Limits = std::numeric_limits<Number>;
    if (!ParseNumber(text, &value) || value != std::floor(value) ||
        std::abs(value) > kMaxExact ||
        value < static_cast<double>(Limits::min()) ||
        value > static_cast<double>(Limits::max())) {
      return false;
    }
    *number = static_cast<Number>(value);
    return true;
  }

  // Puts the columns of features into the order of the first file, by name.
  absl::Status AlignFeatures();

  std::vector<std::string> header_;
  CsvColumns columns_;
  std::vector<std::string> features_;  // Names in the first file.
  bool has_features_ = false;
  std::vector<absl::string_view> fields_;
  std::vector<std::string> shared_;  // Of columns_.shared.
  JsonLine json_;
  std::string object_;
};

}  // namespace sortition
