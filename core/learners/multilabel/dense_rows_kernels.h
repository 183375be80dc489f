#pragma once
// The inner loops of DenseRows.
#include <cstddef>
#include <cstdint>
#include <span>

namespace sortition::internal {

// Labels that are worked on together. Twice as many sums of four stay in the 16
// registers of AVX2, and hide the latency of a fused multiply-add.
inline constexpr uint32_t kMaxLabels = 6;

// Rows of `stride` floats, a multiple of 8, aligned to 32 bytes; and a thin
// matrix by label, at by_label[l stride + j], aligned to 64 bytes.
struct DenseRowsTask {
  std::span<const float* const> rows;
  size_t stride;
  uint32_t num_labels;    // q
  const double* factors;  // rows × q; read by SumRows.
  double* scores;         // rows × q; written by ScoreRows.
  double* by_label;       // Weights; the sums in SumRows.
  size_t begin = 0;       // SumRows: features [begin, end), multiples of 8.
  size_t end = 0;
};

// A block of labels, at most kMaxLabels.
struct LabelBlock {
  uint32_t first;
  uint32_t size;
};

// scores[r q + l] = Σ_j rows[r][j] by_label[l stride + j]
void ScoreRowsPortable(const DenseRowsTask& task, LabelBlock labels);
// by_label[l stride + j] += Σ_r rows[r][j] factors[r q + l]
void SumRowsPortable(const DenseRowsTask& task, LabelBlock labels);

#if defined(__x86_64__)
// Require HasAvx2().
void ScoreRowsAvx2(const DenseRowsTask& task, LabelBlock labels);
void SumRowsAvx2(const DenseRowsTask& task, LabelBlock labels);
inline bool HasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

}  // namespace sortition::internal
