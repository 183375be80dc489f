#pragma once
// The inner loops of ContextRows.
#include <cstddef>
#include <cstdint>
#include <span>

namespace sortition::internal {

// Labels that are processed together. Twice as many sums of four fit into the
// 16 registers of AVX2, and that hides the latency of fused multiply-adds.
inline constexpr uint32_t kMaxLabels = 6;

// Rows of `stride` floats, a multiple of 8, aligned to 32 bytes, and a thin
// matrix stored by label, with entry (j, l) at by_label[l stride + j], aligned
// to 64 bytes.
struct ContextRowsTask {
  std::span<const float* const> rows;
  size_t stride;
  uint32_t num_labels;    // q
  const double* factors;  // rows × q; read by SumRows.
  double* scores;         // rows × q; written by ScoreRows.
  double* by_label;       // ScoreRows: the weights. SumRows: the sums.
  size_t begin = 0;       // SumRows: features [begin, end), multiples of 8.
  size_t end = 0;
};

// A block of at most kMaxLabels labels.
struct LabelBlock {
  uint32_t first;
  uint32_t size;
};

// Computes scores[r q + l] = Σ_j rows[r][j] by_label[l stride + j].
void ScoreRowsPortable(const ContextRowsTask& task, LabelBlock labels);
// Computes by_label[l stride + j] += Σ_r rows[r][j] factors[r q + l].
void SumRowsPortable(const ContextRowsTask& task, LabelBlock labels);

#if defined(__x86_64__)
// Do the same with AVX2. Require HasAvx2().
void ScoreRowsAvx2(const ContextRowsTask& task, LabelBlock labels);
void SumRowsAvx2(const ContextRowsTask& task, LabelBlock labels);
inline bool HasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

}  // namespace sortition::internal
