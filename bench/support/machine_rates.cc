#include "bench/support/machine_rates.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstddef>
#include <vector>

#include "bench/support/clocks.h"

namespace sortition {
namespace {

// Keeps the compiler from leaving out the computation of `value`.
void Use(double value) { asm volatile("" : : "x"(value)); }

constexpr long kRounds = 10'000'000;
constexpr int kChains = 12;  // They are independent, to hide the latency.
constexpr int kTrials = 5;
constexpr double kFactor = 0.999;
constexpr double kTerm = 1e-3;

// The results are used, and nothing is computed ahead of time.
void MultiplyAndAddPortable() {
  double sums[kChains] = {};
  for (long round = 0; round < kRounds; ++round) {
    for (double& sum : sums) {
      sum = sum * kFactor + kTerm;
      asm("" : "+x"(sum));
    }
  }
  for (const double sum : sums) Use(sum);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void MultiplyAndAddAvx2() {
  const __m256d factor = _mm256_set1_pd(kFactor);
  const __m256d term = _mm256_set1_pd(kTerm);
  __m256d sums[kChains] = {};
  for (long round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (__m256d& sum : sums) {
      sum = _mm256_fmadd_pd(sum, factor, term);
      asm("" : "+x"(sum));
    }
  }
  // Whole vectors: if only a part were used, the compiler would keep them in
  // memory.
  for (const __m256d& sum : sums) asm volatile("" : : "x"(sum));
}
#endif

double BestGigaflops(void (*kernel)(), int width) {
  double best = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const double begin = ProcessCpuSeconds();
    kernel();
    best = std::max(
        best, 2e-9 * kRounds * kChains * width / (ProcessCpuSeconds() - begin));
  }
  return best;
}

}  // namespace

double PeakGigaflops() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return BestGigaflops(MultiplyAndAddAvx2, 4);
  }
#endif
  return BestGigaflops(MultiplyAndAddPortable, 1);
}

double MemoryGigabytesPerSecond() {
  constexpr size_t kSize = size_t{1} << 26;  // 512 MB
  constexpr size_t kLanes = 16;
  const std::vector<double> values(kSize, 1);
  double best = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const double begin = ProcessCpuSeconds();
    double lanes[kLanes] = {};
    for (size_t i = 0; i < kSize; i += kLanes) {
      for (size_t k = 0; k < kLanes; ++k) lanes[k] += values[i + k];
    }
    for (const double lane : lanes) Use(lane);
    best = std::max(
        best, 1e-9 * kSize * sizeof(double) / (ProcessCpuSeconds() - begin));
  }
  return best;
}

}  // namespace sortition
