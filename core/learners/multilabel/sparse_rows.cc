#include "core/learners/multilabel/sparse_rows.h"

#include <algorithm>
#include <cstddef>

#include "core/learners/multilabel/wide.h"

namespace sortition {
namespace {

#define SORTITION_INLINE inline SORTITION_WIDE

// What both products read: the rows' values, and the q entries of the thin
// matrix that belong to each value. Both are scattered over more memory than
// the first caches hold, so they are prefetched.
struct SparseRows {
  const LabelContexts& contexts;
  std::span<const uint32_t> rows;

  template <typename Body>
  SORTITION_INLINE void ForValues(size_t r, const Body& body) const {
    const uint64_t end = contexts.row_offsets[rows[r] + 1];
    for (uint64_t k = contexts.row_offsets[rows[r]]; k < end; ++k) body(k);
  }

  size_t Offset(uint64_t k) const {
    return size_t{contexts.columns[k]} * contexts.num_labels;
  }

  // Prefetches the entries of `matrix` for row r + 1, kLabels of each, and the
  // values of row r + 2.
  template <uint32_t kLabels>
  SORTITION_INLINE void Prefetch(size_t r, const double* matrix) const {
    constexpr size_t kLine = 64;
    if (r + 2 < rows.size()) {
      const uint64_t end = contexts.row_offsets[rows[r + 2] + 1];
      for (uint64_t k = contexts.row_offsets[rows[r + 2]]; k < end;
           k += kLine / sizeof(float)) {
        __builtin_prefetch(contexts.columns.data() + k);
        __builtin_prefetch(contexts.values.data() + k);
      }
    }
    if (r + 1 < rows.size()) {
      ForValues(r + 1, [&](uint64_t k) SORTITION_WIDE {
        for (size_t l = 0; l < kLabels; l += kLine / sizeof(double)) {
          __builtin_prefetch(matrix + Offset(k) + l, 1);
        }
      });
    }
  }
};

struct Scores : SparseRows {
  const double* weights;
  double* scores;

  template <uint32_t kLabels>
  SORTITION_INLINE void Run(uint32_t first) const {
    for (size_t r = 0; r < rows.size(); ++r) {
      Prefetch<kLabels>(r, weights + first);
      double sums[kLabels] = {};
      ForValues(r, [&](uint64_t k) SORTITION_WIDE {
        const double value = contexts.values[k];
        const double* const of_feature = weights + Offset(k) + first;
        for (uint32_t l = 0; l < kLabels; ++l) sums[l] += value * of_feature[l];
      });
      std::copy_n(sums, kLabels, scores + r * contexts.num_labels + first);
    }
  }
};

struct Sums : SparseRows {
  const double* factors;
  double* gradient;

  template <uint32_t kLabels>
  SORTITION_INLINE void Run(uint32_t first) const {
    for (size_t r = 0; r < rows.size(); ++r) {
      Prefetch<kLabels>(r, gradient + first);
      double of_row[kLabels];
      std::copy_n(factors + r * contexts.num_labels + first, kLabels, of_row);
      ForValues(r, [&](uint64_t k) SORTITION_WIDE {
        const double value = contexts.values[k];
        double* const sums = gradient + Offset(k) + first;
        for (uint32_t l = 0; l < kLabels; ++l) sums[l] += value * of_row[l];
      });
    }
  }
};

// Runs the product for all labels, in blocks whose sums stay in registers.
template <typename Product>
SORTITION_INLINE void ForLabels(const Product& product) {
  const uint32_t q = product.contexts.num_labels;
  uint32_t first = 0;
  for (; q - first >= 32; first += 32) product.template Run<32>(first);
  for (; q - first >= 8; first += 8) product.template Run<8>(first);
  for (; q - first >= 4; first += 4) product.template Run<4>(first);
  for (; first < q; ++first) product.template Run<1>(first);
}

}  // namespace

void ScoreSparseRows(const LabelContexts& contexts,
                     std::span<const uint32_t> rows, const double* weights,
                     double* scores) {
  const Scores product = {{contexts, rows}, weights, scores};
  internal::RunWide([&]() SORTITION_WIDE { ForLabels(product); });
}

void AddSparseRows(const LabelContexts& contexts,
                   std::span<const uint32_t> rows, const double* factors,
                   double* gradient) {
  const Sums product = {{contexts, rows}, factors, gradient};
  internal::RunWide([&]() SORTITION_WIDE { ForLabels(product); });
}

}  // namespace sortition
