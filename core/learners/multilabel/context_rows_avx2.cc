#include "core/learners/multilabel/context_rows_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>

namespace sortition::internal {
namespace {

#define SORTITION_AVX2 __attribute__((target("avx2,fma")))

// Keeps a vector in a register. The compiler would read it from memory for each
// use.
#define SORTITION_IN_REGISTER(vector) asm("" : "+x"(vector))

// How far ahead to prefetch: reading memory takes longer than the work on a
// row.
constexpr size_t kPrefetchBytes = 8192;

// Returns the four sums of the entries of four vectors.
SORTITION_AVX2 inline __m256d SumsOf(__m256d a, __m256d b, __m256d c,
                                     __m256d d) {
  const __m256d ab = _mm256_hadd_pd(a, b);  // a01 b01 a23 b23
  const __m256d cd = _mm256_hadd_pd(c, d);
  return _mm256_add_pd(_mm256_permute2f128_pd(ab, cd, 0x20),
                       _mm256_permute2f128_pd(ab, cd, 0x31));
}

SORTITION_AVX2 inline void Prefetch(const float* row, size_t stride) {
  constexpr size_t kLine = 64 / sizeof(float);
  for (size_t j = 0; j < stride; j += kLine) {
    _mm_prefetch(reinterpret_cast<const char*>(row + j), _MM_HINT_T0);
  }
}

// Processes two rows at a time.
template <uint32_t kLabels>
SORTITION_AVX2 void ScoreLabels(const ContextRowsTask& task, uint32_t first) {
  const size_t stride = task.stride;
  const double* const weights = task.by_label + first * stride;
  const size_t last = task.rows.size() - 1;
  const size_t ahead =
      std::max<size_t>(2, kPrefetchBytes / (stride * sizeof(float)) / 2 * 2);
  for (size_t r = 0; r < task.rows.size(); r += 2) {
    const float* const a = task.rows[r];
    const float* const b = task.rows[std::min(r + 1, last)];
    Prefetch(task.rows[std::min(r + ahead, last)], stride);
    Prefetch(task.rows[std::min(r + ahead + 1, last)], stride);
    __m256d sums[2][(kLabels + 3) / 4 * 4] = {};
    for (size_t j = 0; j < stride; j += 4) {
      const __m256d x_a = _mm256_cvtps_pd(_mm_load_ps(a + j));
      const __m256d x_b = _mm256_cvtps_pd(_mm_load_ps(b + j));
#pragma GCC unroll 8
      for (uint32_t l = 0; l < kLabels; ++l) {
        __m256d w = _mm256_load_pd(weights + l * stride + j);
        SORTITION_IN_REGISTER(w);
        sums[0][l] = _mm256_fmadd_pd(x_a, w, sums[0][l]);
        sums[1][l] = _mm256_fmadd_pd(x_b, w, sums[1][l]);
      }
    }
#pragma GCC unroll 2
    for (size_t k = 0; k < 2; ++k) {
      double* const scores =
          task.scores + std::min(r + k, last) * task.num_labels + first;
#pragma GCC unroll 2
      for (uint32_t l = 0; l < kLabels; l += 4) {
        alignas(32) double four[4];
        _mm256_store_pd(four, SumsOf(sums[k][l], sums[k][l + 1], sums[k][l + 2],
                                     sums[k][l + 3]));
        std::copy_n(four, std::min(4u, kLabels - l), scores + l);
      }
    }
  }
}

// Processes eight features at a time.
template <uint32_t kLabels>
SORTITION_AVX2 void SumLabels(const ContextRowsTask& task, uint32_t first) {
  const size_t stride = task.stride;
  const uint32_t q = task.num_labels;
  for (size_t j = task.begin; j < task.end; j += 8) {
    __m256d sums[2][kLabels] = {};
    const double* factors = task.factors + first;
    for (const float* const row : task.rows) {
      const __m256d x_a = _mm256_cvtps_pd(_mm_load_ps(row + j));
      const __m256d x_b = _mm256_cvtps_pd(_mm_load_ps(row + j + 4));
#pragma GCC unroll 8
      for (uint32_t l = 0; l < kLabels; ++l) {
        __m256d factor = _mm256_broadcast_sd(factors + l);
        SORTITION_IN_REGISTER(factor);
        sums[0][l] = _mm256_fmadd_pd(x_a, factor, sums[0][l]);
        sums[1][l] = _mm256_fmadd_pd(x_b, factor, sums[1][l]);
      }
      factors += q;
    }
#pragma GCC unroll 8
    for (uint32_t l = 0; l < kLabels; ++l) {
      double* const out = task.by_label + (first + l) * stride + j;
      _mm256_store_pd(out, _mm256_add_pd(_mm256_load_pd(out), sums[0][l]));
      _mm256_store_pd(out + 4,
                      _mm256_add_pd(_mm256_load_pd(out + 4), sums[1][l]));
    }
  }
}

using Kernel = void (*)(const ContextRowsTask& task, uint32_t first);

}  // namespace

void ScoreRowsAvx2(const ContextRowsTask& task, LabelBlock labels) {
  constexpr Kernel kKernels[] = {ScoreLabels<1>, ScoreLabels<2>,
                                 ScoreLabels<3>, ScoreLabels<4>,
                                 ScoreLabels<5>, ScoreLabels<6>};
  if (!task.rows.empty()) kKernels[labels.size - 1](task, labels.first);
}

void SumRowsAvx2(const ContextRowsTask& task, LabelBlock labels) {
  constexpr Kernel kKernels[] = {SumLabels<1>, SumLabels<2>, SumLabels<3>,
                                 SumLabels<4>, SumLabels<5>, SumLabels<6>};
  kKernels[labels.size - 1](task, labels.first);
}

}  // namespace sortition::internal
#endif
