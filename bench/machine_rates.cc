#include "bench/machine_rates.h"

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <vector>

namespace sortition {
namespace {

// Keeps the compiler from leaving out what computed `value`.
void Use(double value) { asm volatile("" : : "x"(value)); }

constexpr long kRounds = 10'000'000;
constexpr int kChains = 12;  // Independent: they hide the latency.
constexpr int kTrials = 5;

template <int kWidth>
struct VectorOf {
  typedef double Type __attribute__((vector_size(sizeof(double) * kWidth)));
};

template <int kWidth>
inline __attribute__((always_inline)) void MultiplyAndAdd() {
  using Vector = typename VectorOf<kWidth>::Type;
  Vector sums[kChains] = {};
  const Vector factor = Vector{} + 0.999;
  const Vector term = Vector{} + 1e-3;
  for (long round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (Vector& sum : sums) {
      sum = sum * factor + term;
      asm("" : "+x"(sum));  // Nothing is computed ahead of time.
    }
  }
  for (const Vector& sum : sums) Use(sum[0]);
}

void MultiplyAndAddPortable() { MultiplyAndAdd<2>(); }

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void MultiplyAndAddAvx2() {
  MultiplyAndAdd<4>();
}
#endif

double BestGigaflops(void (*kernel)(), int width) {
  double best = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const double begin = CpuSeconds();
    kernel();
    best = std::max(best,
                    2e-9 * kRounds * kChains * width / (CpuSeconds() - begin));
  }
  return best;
}

}  // namespace

double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

double PeakGigaflops() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return BestGigaflops(MultiplyAndAddAvx2, 4);
  }
#endif
  return BestGigaflops(MultiplyAndAddPortable, 2);
}

double MemoryGigabytesPerSecond() {
  constexpr size_t kSize = size_t{1} << 26;  // 512 MB
  constexpr size_t kLanes = 16;
  const std::vector<double> values(kSize, 1);
  double best = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const double begin = CpuSeconds();
    double lanes[kLanes] = {};
    for (size_t i = 0; i < kSize; i += kLanes) {
      for (size_t k = 0; k < kLanes; ++k) lanes[k] += values[i + k];
    }
    for (const double lane : lanes) Use(lane);
    best =
        std::max(best, 1e-9 * kSize * sizeof(double) / (CpuSeconds() - begin));
  }
  return best;
}

}  // namespace sortition
