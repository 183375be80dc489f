#pragma once
// The candidates of one query as a view: nothing is copied.
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

namespace sortition {

// n candidates with d features each, dense (row-major n × d) or sparse
// (compressed rows). A view: what it was made from must outlive it.
class Candidates {
 public:
  // No candidates.
  Candidates() = default;

  // InvalidArgument where num_features = 0, values.size() is not a positive
  // multiple of it, or a value is not finite; the message names the place
  // ("features (row 3, column 7) is nan, must be finite").
  static absl::StatusOr<Candidates> Dense(std::span<const float> values,
                                          uint32_t num_features);

  // InvalidArgument where `row_offsets` does not start with 0, decrease, or end
  // elsewhere than at columns.size() = values.size(); where the columns of a
  // row do not ascend strictly or reach num_features; where a value is not
  // finite.
  static absl::StatusOr<Candidates> Sparse(
      std::span<const uint32_t> row_offsets, std::span<const uint32_t> columns,
      std::span<const float> values, uint32_t num_features);

  // The same without any checks: for data that was validated before.
  static Candidates DenseUnchecked(std::span<const float> values,
                                   uint32_t num_features);
  static Candidates SparseUnchecked(std::span<const uint32_t> row_offsets,
                                    std::span<const uint32_t> columns,
                                    std::span<const float> values,
                                    uint32_t num_features);

  uint32_t num_candidates() const { return num_candidates_; }
  uint32_t num_features() const { return num_features_; }
  bool sparse() const { return !row_offsets_.empty(); }
  std::span<const float> values() const { return values_; }
  std::span<const uint32_t> row_offsets() const { return row_offsets_; }
  std::span<const uint32_t> columns() const { return columns_; }

  // Returns w·x_i, accumulated in double in a fixed order: the same bits
  // whatever the alignment. Requires weights.size() == num_features().
  double Score(uint32_t document_index, std::span<const double> weights) const;

  // Writes scores[i] = Score(document_indexes[i]): the same bits, but faster.
  void Scores(std::span<const uint32_t> document_indexes,
              std::span<const double> weights, std::span<double> scores) const;

  // Adds scale · x_i to `gradient`. Requires gradient.size() == num_features().
  void AddRow(uint32_t document_index, double scale,
              std::span<double> gradient) const;

 private:
  uint32_t num_candidates_ = 0;
  uint32_t num_features_ = 0;
  std::span<const float> values_;
  std::span<const uint32_t> row_offsets_;
  std::span<const uint32_t> columns_;
};

}  // namespace sortition
