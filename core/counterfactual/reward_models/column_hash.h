#pragma once
// Fewer columns for wide rows: signed feature hashing [WeinbergerEtAl09].
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sortition {

// Rows of more columns than this are hashed, to kHashedColumns: a model of them
// needs a matrix of columns², which would otherwise grow without limit.
inline constexpr uint32_t kMaxDirectColumns = 1024;
inline constexpr uint32_t kHashedColumns = 512;

// Column j is added, with a sign, to the column that a hash of j says, so that
// products of rows are right in expectation. What shares a column is mixed up:
// a linear model of hashed rows is one of the rows with equal coefficients, up
// to the sign, within a column.
class ColumnHash {
 public:
  explicit ColumnHash(uint32_t num_features);

  bool is_identity() const { return targets_.empty(); }
  uint32_t num_columns() const { return num_columns_; }

  // Returns the row with num_columns() numbers: `features` itself, or what is
  // written to `hashed`, which has that size.
  std::span<const float> Apply(std::span<const float> features,
                               std::span<float> hashed) const;

  // Returns the coefficients of the features from those of the columns: a
  // linear model predicts the same from both.
  std::vector<double> Expand(std::span<const double> coefficients) const;

 private:
  struct Target {
    uint32_t column;
    float sign;
  };

  uint32_t num_columns_;
  std::vector<Target> targets_;  // By feature; empty if nothing is hashed.
};

}  // namespace sortition
