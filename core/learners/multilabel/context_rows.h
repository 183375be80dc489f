#pragma once
// Multiplies a few rows of a dense matrix X with a thin matrix. This is what a
// mini-batch needs: a hundred rows of some hundred features, and a few labels.
// At that size a general matrix product spends more time on packing its
// operands than on the product. Here the rows are read in place as floats, and
// all sums are of doubles.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/parallel.h"

namespace sortition {

// Uses AVX2 and fused multiply-adds if the processor has them. Results are
// bit-identical on processors of the same kind, for any number of threads.
class ContextRows {
 public:
  ContextRows() = default;
  // All entries are 0. Takes 4 bytes per entry; rows are padded to a multiple
  // of 8 entries.
  ContextRows(size_t num_rows, uint32_t num_features);

  bool empty() const { return values_.empty(); }
  void Set(size_t row, uint32_t column, float value) {
    const size_t i = row * stride_ + column;
    values_[i / 8].values[i % 8] = value;
  }

  // Prefetches the start of a row that is read soon. The products prefetch the
  // rest of long rows.
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

  // Sets the matrix of Multiply(). weights[j q + l] is the weight of feature j
  // for label l < q = `num_labels`.
  void SetWeights(uint32_t num_labels, std::span<const double> weights);
  // Computes scores[r q + l] = Σ_j x[rows[r]][j] weights[j q + l]. Thread-safe.
  void Multiply(std::span<const uint32_t> rows, std::span<double> scores) const;

  // Computes gradient[j q + l] += Σ_r x[rows[r]][j] factors[r q + l]. Rows
  // whose factors are all 0 cost nothing.
  void AddTransposedProduct(std::span<const uint32_t> rows, uint32_t num_labels,
                            std::span<const double> factors,
                            const ParallelFor& parallel_for,
                            std::span<double> gradient);

 private:
  // Aligned so that no vector crosses a cache line.
  template <typename T>
  struct alignas(8 * sizeof(T)) Eight {
    T values[8] = {};
  };

  uint32_t num_features_ = 0;           // p
  size_t stride_ = 0;                   // p rounded up to a multiple of 8.
  std::vector<Eight<float>> values_;    // Rows, each padded with zeros.
  uint32_t num_labels_ = 0;             // q
  std::vector<Eight<double>> weights_;  // q × stride
  // Scratch of AddTransposedProduct():
  std::vector<Eight<double>> sums_;  // q × stride
  std::vector<const float*> active_;
  std::vector<double> factors_;  // Factors of the active rows.
};

}  // namespace sortition
