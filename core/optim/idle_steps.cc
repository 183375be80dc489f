#include "core/optim/idle_steps.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/base/stable_math.h"

namespace sortition {
namespace {

// What n steps at once may add to h, relative to it.
constexpr double kMostGrowth = 1e-5;
// The same, times n, for η c / √h > 1.
constexpr double kMostAlternatingGrowth = 1e-7;
// With fewer steps than this, one by one is faster.
constexpr double kFewSteps = 4;
// What the sum of n a and the growth may be for the short series.
constexpr double kShortDecay = 1e-3;
constexpr double kShortGrowth = 1e-6;

// Many steps of one entry by the factor q = 1 - a each, a ≠ 1.
struct Stretch {
  double a;
  double n;

  double log_factor() const {
    return a < 1 ? stable::Log1p(-a) : stable::Log(a - 1);
  }
  double ratio() const { return a * (2 - a); }  // 1 - q²

  // Returns 1 - |q|ⁿ.
  double Part() const { return -stable::Expm1(n * log_factor()); }

  // Returns Σ q^{2t}, t < n.
  double SumOfSquares() const {
    const double log = 2 * n * log_factor();
    // The quotient is n up to 1e-9, and 0 / 0 for a = 2.
    return std::abs(log) < 1e-9 ? n : -stable::Expm1(log) / ratio();
  }

  // Returns the mean of Σ q^{2t}, t < i, over i = 1 … n.
  double MeanSumOfSquares() const {
    const double small = n * ratio();
    return std::abs(small) < 1e-4
               ? (n + 1) / 2 * (1 - ratio() * (n - 1) / 3)
               : (n - (1 - a) * (1 - a) * SumOfSquares()) / small;
  }
};

// The same as CatchUp() for one entry. Small decays and growths are the common
// case. Their series, with a at the mean of h over the steps, err by 1e-12:
// next terms are n a⁴ / 4, (n a)⁴ / 24 and the product of decay and growth.
template <bool kFramed>
void StepEntry(const IdleSteps& steps, size_t i, uint32_t gap) {
  const double c = 2 * steps.l2;
  const double w = steps.point[i];
  const double h = steps.accumulator[i];
  const double distance = kFramed ? w - steps.origin[i] : w;
  const double v = kFramed ? distance * steps.inverse_scales[i] : distance;
  if (v == 0) return;
  const double n = gap;
  const double step = c * v;
  const double square = step * step;
  const double growth = n * square;
  const double a =
      (steps.step_size * c) / std::sqrt(h + (0.5 * growth + 0.5 * square));
  const double decay = n * a;
  if (decay <= kShortDecay && growth <= kShortGrowth * h) {
    const double log = decay * (1 + a * (0.5 + a * (1.0 / 3)));
    const double part = log * (1 - log * (0.5 - log * (1.0 / 6)));
    steps.point[i] = w - distance * part;
    steps.accumulator[i] = h + growth * (1 - (decay - a));
    return;
  }
  double end = v;
  internal::MakeIdleSteps(steps.step_size, steps.l2, gap, &end,
                          &steps.accumulator[i]);
  steps.point[i] = (kFramed ? steps.origin[i] : 0) + distance * (end / v);
}

template <bool kFramed>
void CatchUpPortable(const IdleSteps& steps, const EntryGroups& entries,
                     uint32_t now, std::span<uint32_t> done) {
  for (const uint32_t group : entries.groups) {
    const uint32_t gap = now - done[group];
    if (gap == 0) continue;
    done[group] = now;
    const size_t first = size_t{group} * entries.size;
    for (size_t k = 0; k < entries.size; ++k) {
      StepEntry<kFramed>(steps, first + k, gap);
    }
  }
}

#if defined(__x86_64__)
#define SORTITION_AVX2 __attribute__((target("avx2")))

constexpr size_t kAvx2Lanes = 4;
// Groups are scattered: their first entries are requested this far ahead.
constexpr size_t kAhead = 8;

// Makes the steps of four entries by the short series, with the operations of
// StepEntry(); returns false if one of them needs more.
template <bool kFramed>
SORTITION_AVX2 bool StepFour(const IdleSteps& steps, size_t i, double gap) {
  const __m256d one = _mm256_set1_pd(1);
  const __m256d c = _mm256_set1_pd(2 * steps.l2);
  const __m256d w = _mm256_loadu_pd(steps.point + i);
  __m256d distance = w;
  __m256d v = w;
  if constexpr (kFramed) {
    distance = _mm256_sub_pd(w, _mm256_loadu_pd(steps.origin + i));
    v = _mm256_mul_pd(distance, _mm256_loadu_pd(steps.inverse_scales + i));
  }
  const __m256d h = _mm256_loadu_pd(steps.accumulator + i);
  const __m256d n = _mm256_set1_pd(gap);
  const __m256d step = _mm256_mul_pd(c, v);
  const __m256d square = _mm256_mul_pd(step, step);
  const __m256d growth = _mm256_mul_pd(n, square);
  const __m256d half = _mm256_set1_pd(0.5);
  const __m256d mean = _mm256_add_pd(
      h,
      _mm256_add_pd(_mm256_mul_pd(half, growth), _mm256_mul_pd(half, square)));
  const __m256d a = _mm256_div_pd(
      _mm256_set1_pd(steps.step_size * (2 * steps.l2)), _mm256_sqrt_pd(mean));
  const __m256d decay = _mm256_mul_pd(n, a);
  const __m256d is_short = _mm256_and_pd(
      _mm256_cmp_pd(decay, _mm256_set1_pd(kShortDecay), _CMP_LE_OQ),
      _mm256_cmp_pd(growth, _mm256_mul_pd(_mm256_set1_pd(kShortGrowth), h),
                    _CMP_LE_OQ));
  if (_mm256_movemask_pd(is_short) != 0xF) return false;
  const __m256d factor =
      _mm256_add_pd(half, _mm256_mul_pd(a, _mm256_set1_pd(1.0 / 3)));
  const __m256d log =
      _mm256_mul_pd(decay, _mm256_add_pd(one, _mm256_mul_pd(a, factor)));
  const __m256d part = _mm256_mul_pd(
      log,
      _mm256_sub_pd(
          one,
          _mm256_mul_pd(
              log, _mm256_sub_pd(
                       half, _mm256_mul_pd(log, _mm256_set1_pd(1.0 / 6))))));
  _mm256_storeu_pd(steps.point + i,
                   _mm256_sub_pd(w, _mm256_mul_pd(distance, part)));
  _mm256_storeu_pd(
      steps.accumulator + i,
      _mm256_add_pd(
          h,
          _mm256_mul_pd(growth, _mm256_sub_pd(one, _mm256_sub_pd(decay, a)))));
  return true;
}

template <bool kFramed>
SORTITION_AVX2 void CatchUpAvx2(const IdleSteps& steps,
                                const EntryGroups& entries, uint32_t now,
                                std::span<uint32_t> done) {
  const size_t num_groups = entries.groups.size();
  for (size_t place = 0; place < num_groups; ++place) {
    if (place + kAhead < num_groups) {
      const size_t ahead = entries.groups[place + kAhead];
      __builtin_prefetch(&done[ahead], 1);
      __builtin_prefetch(steps.point + ahead * entries.size, 1);
      __builtin_prefetch(steps.accumulator + ahead * entries.size, 1);
    }
    const uint32_t group = entries.groups[place];
    // No jump where it is 0: the processor would guess wrong too often.
    const uint32_t gap = now - done[group];
    done[group] = now;
    size_t i = size_t{group} * entries.size;
    const size_t end = i + entries.size;
    for (; i + kAvx2Lanes <= end; i += kAvx2Lanes) {
      if (StepFour<kFramed>(steps, i, gap)) continue;
      for (size_t k = 0; k < kAvx2Lanes; ++k)
        StepEntry<kFramed>(steps, i + k, gap);
    }
    for (; i < end; ++i) StepEntry<kFramed>(steps, i, gap);
  }
}
#endif

template <bool kFramed>
void CatchUpIn(const IdleSteps& steps, const EntryGroups& entries, uint32_t now,
               std::span<uint32_t> done) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    return CatchUpAvx2<kFramed>(steps, entries, now, done);
  }
#endif
  CatchUpPortable<kFramed>(steps, entries, now, done);
}

}  // namespace

void internal::MakeIdleSteps(double step_size, double l2, uint32_t count,
                             double* v, double* h) {
  const double c = 2 * l2;
  double left = count;
  while (left > 0 && *v != 0 && std::isfinite(*v)) {
    const double growth = (c * *v) * (c * *v);
    Stretch stretch = {step_size * c / std::sqrt(*h),
                       std::min(left, std::floor(kMostGrowth * *h / growth))};
    const bool is_near_one = std::abs(1 - stretch.a) < 0.1;
    // Where v changes its sign in each step, the growth of h decides whether
    // |v| falls.
    if (stretch.a > 1) {
      stretch.n =
          std::min(stretch.n,
                   std::floor(std::sqrt(kMostAlternatingGrowth * *h / growth)));
    }
    if (stretch.a > 2) {
      stretch.n = std::min(stretch.n, std::floor(0.125 / (stretch.a - 2)));
    }
    if (stretch.n < kFewSteps || is_near_one) {
      *h += growth;
      *v -= step_size * (c * *v / std::sqrt(*h));
      --left;
      continue;
    }
    left -= stretch.n;
    stretch.a *= 1 - 0.5 * growth * stretch.MeanSumOfSquares() / *h;
    *h += growth * stretch.SumOfSquares();
    *v -= *v * stretch.Part();
    if (stretch.a > 1 && std::fmod(stretch.n, 2) == 1) *v = -*v;
  }
}

void CatchUp(const IdleSteps& steps, const EntryGroups& entries, uint32_t now,
             std::span<uint32_t> done) {
  if (steps.inverse_scales != nullptr) {
    return CatchUpIn<true>(steps, entries, now, done);
  }
  CatchUpIn<false>(steps, entries, now, done);
}

}  // namespace sortition
