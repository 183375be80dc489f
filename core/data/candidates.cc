#include "core/data/candidates.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// Summation order, part of what a logged propensity means: feature j is added
// in lane j mod 8, lanes are added pairwise. Zeros change nothing, so dense and
// sparse rows of the same numbers have the same score.
constexpr size_t kLanes = 8;
// A document_index is an int32_t.
constexpr size_t kMaxCandidates = std::numeric_limits<int32_t>::max();

double AddLanes(const double* lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

// Adds the products of blocks of eight features to the lanes.
inline __attribute__((always_inline)) void AddBlock(const float* row,
                                                    const double* weights,
                                                    double* lanes) {
  for (size_t j = 0; j < kLanes; ++j) {
    lanes[j] += static_cast<double>(row[j]) * weights[j];
  }
}

// Scores of some rows of a dense matrix.
struct DenseRows {
  const float* values;
  size_t num_rows;  // Number of rows of the matrix.
  size_t num_features;
  std::span<const uint32_t> rows;
  const double* weights;
  double* scores;
};

// The features that do not fill a block are read together with what follows
// them, times a weight of 0: nothing is added. Only the last row ends there.
inline __attribute__((always_inline)) void ScoreDenseRowsKernel(
    const DenseRows& task) {
  const size_t full = task.num_features / kLanes * kLanes;
  const size_t rest = task.num_features - full;
  double rest_weights[kLanes] = {};
  std::copy_n(task.weights + full, rest, rest_weights);
  for (size_t i = 0; i < task.rows.size(); ++i) {
    const float* const row =
        task.values + static_cast<size_t>(task.rows[i]) * task.num_features;
    double lanes[kLanes] = {};
    for (size_t k = 0; k < full; k += kLanes) {
      AddBlock(row + k, task.weights + k, lanes);
    }
    const float* const end = task.values + task.num_rows * task.num_features;
    if (row + full + kLanes <= end) {
      AddBlock(row + full, rest_weights, lanes);
    } else {
      float padded[kLanes] = {};
      std::copy_n(row + full, rest, padded);
      AddBlock(padded, rest_weights, lanes);
    }
    task.scores[i] = AddLanes(lanes);
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void ScoreDenseRowsAvx2(const DenseRows& task) {
  ScoreDenseRowsKernel(task);
}
#endif

void ScoreDenseRows(const DenseRows& task) {
#if defined(__x86_64__)
  // The same operations in the same order, so the same bits, only wider.
  if (__builtin_cpu_supports("avx2")) {
    ScoreDenseRowsAvx2(task);
    return;
  }
#endif
  ScoreDenseRowsKernel(task);
}

double SparseScore(std::span<const uint32_t> columns, const float* values,
                   const double* weights) {
  double lanes[kLanes] = {};
  for (size_t i = 0; i < columns.size(); ++i) {
    const uint32_t column = columns[i];
    lanes[column % kLanes] += static_cast<double>(values[i]) * weights[column];
  }
  return AddLanes(lanes);
}

// Returns the index of the first value that is NaN or infinite, or size().
size_t FindNotFinite(std::span<const float> values) {
  constexpr uint32_t kExponent = 0x7f800000;
  uint32_t found = 0;
  for (const float value : values) {
    found |= (std::bit_cast<uint32_t>(value) & kExponent) == kExponent ? 1 : 0;
  }
  if (found == 0) return values.size();
  size_t i = 0;
  while (std::isfinite(values[i])) ++i;
  return i;
}

absl::Status NotFiniteError(size_t row, size_t column, float value) {
  return absl::InvalidArgumentError(absl::StrCat("features (row ", row,
                                                 ", column ", column, ") is ",
                                                 value, ", must be finite"));
}

absl::Status CheckRowOffsets(std::span<const uint32_t> row_offsets,
                             size_t num_columns) {
  if (row_offsets.size() < 2 || row_offsets.size() - 1 > kMaxCandidates) {
    return absl::InvalidArgumentError(
        absl::StrCat("row_offsets has ", row_offsets.size(),
                     " entries, must have 2 to ", kMaxCandidates + 1));
  }
  if (row_offsets.front() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("row_offsets[0] is ", row_offsets.front(), ", must be 0"));
  }
  for (size_t i = 1; i < row_offsets.size(); ++i) {
    if (row_offsets[i] < row_offsets[i - 1]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "row_offsets[", i, "] is ", row_offsets[i], ", must be at least ",
          row_offsets[i - 1], ", the entry before it"));
    }
  }
  if (row_offsets.back() != num_columns) {
    return absl::InvalidArgumentError(absl::StrCat(
        "row_offsets[", row_offsets.size() - 1, "] is ", row_offsets.back(),
        ", must be ", num_columns, ", the number of columns"));
  }
  return absl::OkStatus();
}

// Requires good row offsets.
absl::Status CheckColumns(std::span<const uint32_t> row_offsets,
                          std::span<const uint32_t> columns,
                          uint32_t num_features) {
  for (size_t row = 0; row + 1 < row_offsets.size(); ++row) {
    for (uint32_t i = row_offsets[row]; i < row_offsets[row + 1]; ++i) {
      if (columns[i] >= num_features) {
        return absl::InvalidArgumentError(
            absl::StrCat("columns[", i, "] (row ", row, ") is ", columns[i],
                         ", must be below num_features = ", num_features));
      }
      if (i > row_offsets[row] && columns[i] <= columns[i - 1]) {
        return absl::InvalidArgumentError(absl::StrCat(
            "columns[", i, "] (row ", row, ") is ", columns[i],
            ", must be above ", columns[i - 1], ", the column before it"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNumFeatures(uint32_t num_features) {
  if (num_features > 0) return absl::OkStatus();
  return absl::InvalidArgumentError("num_features is 0, must be at least 1");
}

}  // namespace

absl::StatusOr<Candidates> Candidates::Dense(std::span<const float> values,
                                             uint32_t num_features) {
  RETURN_IF_ERROR(CheckNumFeatures(num_features));
  if (values.empty() || values.size() % num_features != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("features has ", values.size(),
                     " values, must be a positive multiple of num_features = ",
                     num_features));
  }
  if (values.size() / num_features > kMaxCandidates) {
    return absl::InvalidArgumentError(
        absl::StrCat("features has ", values.size() / num_features,
                     " rows, must have at most ", kMaxCandidates));
  }
  if (const size_t i = FindNotFinite(values); i < values.size()) {
    return NotFiniteError(i / num_features, i % num_features, values[i]);
  }
  return DenseUnchecked(values, num_features);
}

absl::StatusOr<Candidates> Candidates::Sparse(
    std::span<const uint32_t> row_offsets, std::span<const uint32_t> columns,
    std::span<const float> values, uint32_t num_features) {
  RETURN_IF_ERROR(CheckNumFeatures(num_features));
  if (columns.size() != values.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("features has ", values.size(), " values, must have ",
                     columns.size(), ", as many as columns"));
  }
  RETURN_IF_ERROR(CheckRowOffsets(row_offsets, columns.size()));
  RETURN_IF_ERROR(CheckColumns(row_offsets, columns, num_features));
  if (const size_t i = FindNotFinite(values); i < values.size()) {
    size_t row = 0;
    while (row_offsets[row + 1] <= i) ++row;
    return NotFiniteError(row, columns[i], values[i]);
  }
  return SparseUnchecked(row_offsets, columns, values, num_features);
}

Candidates Candidates::DenseUnchecked(std::span<const float> values,
                                      uint32_t num_features) {
  Candidates candidates;
  candidates.num_candidates_ =
      static_cast<uint32_t>(values.size() / num_features);
  candidates.num_features_ = num_features;
  candidates.values_ = values;
  return candidates;
}

Candidates Candidates::SparseUnchecked(std::span<const uint32_t> row_offsets,
                                       std::span<const uint32_t> columns,
                                       std::span<const float> values,
                                       uint32_t num_features) {
  Candidates candidates;
  candidates.num_candidates_ = static_cast<uint32_t>(row_offsets.size() - 1);
  candidates.num_features_ = num_features;
  candidates.row_offsets_ = row_offsets;
  candidates.columns_ = columns;
  candidates.values_ = values;
  return candidates;
}

double Candidates::Score(uint32_t document_index,
                         std::span<const double> weights) const {
  double score = 0;
  Scores({&document_index, 1}, weights, {&score, 1});
  return score;
}

void Candidates::Scores(std::span<const uint32_t> document_indexes,
                        std::span<const double> weights,
                        std::span<double> scores) const {
  DCHECK(weights.size() == num_features_);
  DCHECK(scores.size() == document_indexes.size());
  if (!sparse()) {
    ScoreDenseRows({values_.data(), num_candidates_, num_features_,
                    document_indexes, weights.data(), scores.data()});
    return;
  }
  for (size_t i = 0; i < document_indexes.size(); ++i) {
    const uint32_t begin = row_offsets_[document_indexes[i]];
    const uint32_t size = row_offsets_[document_indexes[i] + 1] - begin;
    scores[i] = SparseScore(columns_.subspan(begin, size),
                            values_.data() + begin, weights.data());
  }
}

void Candidates::AddRow(uint32_t document_index, double scale,
                        std::span<double> gradient) const {
  DCHECK(document_index < num_candidates_);
  DCHECK(gradient.size() == num_features_);
  if (!sparse()) {
    const float* const row =
        values_.data() + static_cast<size_t>(document_index) * num_features_;
    double* const sums = gradient.data();
    for (size_t j = 0; j < num_features_; ++j) {
      sums[j] += scale * static_cast<double>(row[j]);
    }
    return;
  }
  for (uint32_t i = row_offsets_[document_index];
       i < row_offsets_[document_index + 1]; ++i) {
    gradient[columns_[i]] += scale * static_cast<double>(values_[i]);
  }
}

}  // namespace sortition
