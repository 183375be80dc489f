#pragma once
// Products of a few rows of a dense matrix X with a thin matrix, as a
// mini-batch needs them: a hundred rows of some hundred features, a few labels.
// At that size a general matrix product spends more on packing its operands
// than on the product. Here the rows are read where they lie, as the floats
// they are, and all sums are of doubles.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/parallel.h"

namespace sortition {

// Uses AVX2 and fused multiply-adds where the processor has them; the same bits
// on processors of the same kind, whatever the threads.
class DenseRows {
 public:
  DenseRows() = default;
  // All zero. Memory: 4 bytes per entry, rows rounded up to 8 entries.
  DenseRows(size_t num_rows, uint32_t num_features);

  bool empty() const { return values_.empty(); }
  void Set(size_t row, uint32_t column, float value) {
    const size_t i = row * stride_ + column;
    values_[i / 8].values[i % 8] = value;
  }

  // A hint: the row is read soon. Of long rows, what comes first: the products
  // themselves ask for the rest.
  void Prefetch(size_t row) const {
    constexpr size_t kMost = 16;
    const size_t eights = stride_ / 8;
    for (size_t k = 0; k < std::min(eights, kMost); k += 2) {
      __builtin_prefetch(&values_[row * eights + k]);
    }
    if (eights > 0 && eights <= kMost) {
      __builtin_prefetch(&values_[(row + 1) * eights - 1]);
    }
  }

  // For Multiply(): weights[j q + l] of feature j, l below q = `num_labels`.
  void SetWeights(uint32_t num_labels, std::span<const double> weights);
  // scores[r q + l] = Σ_j x[rows[r]][j] weights[j q + l]. Thread-safe.
  void Multiply(std::span<const uint32_t> rows, std::span<double> scores) const;

  // gradient[j q + l] += Σ_r x[rows[r]][j] factors[r q + l]; rows with nothing
  // but zero factors cost nothing.
  void AddTransposedProduct(std::span<const uint32_t> rows, uint32_t num_labels,
                            std::span<const double> factors,
                            const ParallelFor& parallel_for,
                            std::span<double> gradient);

 private:
  // Aligned so that no vector is in two cache lines.
  template <typename T>
  struct alignas(8 * sizeof(T)) Eight {
    T values[8] = {};
  };

  uint32_t num_features_ = 0;           // p
  size_t stride_ = 0;                   // p rounded up to a multiple of 8.
  std::vector<Eight<float>> values_;    // Rows, zeros behind each.
  uint32_t num_labels_ = 0;             // q
  std::vector<Eight<double>> weights_;  // q × stride
  // Scratch of AddTransposedProduct():
  std::vector<Eight<double>> sums_;  // q × stride
  std::vector<const float*> active_;
  std::vector<double> factors_;  // Of the active rows.
};

}  // namespace sortition
