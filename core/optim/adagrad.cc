#include "core/optim/adagrad.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cmath>
#include <cstddef>
#include <numeric>

#include "core/base/check.h"
#include "core/optim/idle_steps.h"

namespace sortition {
namespace {

// Number of entries that are moved together. Sums of squares are kept per lane,
// so that results do not depend on the vector width of the processor.
constexpr size_t kLanes = 4;

struct Sums {
  double direction[kLanes] = {};
  double point[kLanes] = {};
};

AdaGradStep StepOf(const Sums& sums) {
  const auto add = [](const double* lanes) {
    return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
  };
  return {std::sqrt(add(sums.direction)), add(sums.point)};
}

struct Vectors {
  double* gradient;
  double* accumulator;
  double* point;
  double step_size;
  double l2;
  // Null in the trivial frame.
  const double* origin;
  const double* scales;
  const double* inverse_scales;
};

template <bool kFramed>
void MovePortable(const Vectors& v, const EntryGroups& entries, Sums* sums) {
  for (const uint32_t group : entries.groups) {
    const size_t first = size_t{group} * entries.size;
    for (size_t k = 0; k < entries.size; ++k) {
      const size_t i = first + k;
      double gradient = v.gradient[i];
      double step_size = v.step_size;
      if constexpr (kFramed) {
        gradient =
            gradient * v.scales[i] +
            2 * v.l2 * ((v.point[i] - v.origin[i]) * v.inverse_scales[i]);
        step_size *= v.scales[i];
      } else {
        gradient += 2 * v.l2 * v.point[i];
      }
      v.gradient[i] = 0;
      v.accumulator[i] += gradient * gradient;
      const double direction = gradient / std::sqrt(v.accumulator[i]);
      v.point[i] -= step_size * direction;
      sums->direction[k % kLanes] += direction * direction;
      sums->point[k % kLanes] += v.point[i] * v.point[i];
    }
  }
}

#if defined(__x86_64__)
#define SORTITION_AVX2 __attribute__((target("avx2")))

// Performs the same operations in the same order, for four entries at once.
struct FourMover {
  __m256d step_size;
  __m256d two_l2;
  __m256d directions;
  __m256d points;

  SORTITION_AVX2 void Move(__m256d gradient, __m256d* h, __m256d* w) {
    const __m256d g = _mm256_add_pd(gradient, _mm256_mul_pd(two_l2, *w));
    MoveAlong(g, step_size, h, w);
  }

  // The frame's entries follow.
  SORTITION_AVX2 void MoveFramed(__m256d gradient, __m256d origin,
                                 __m256d scale, __m256d inverse_scale,
                                 __m256d* h, __m256d* w) {
    const __m256d v = _mm256_mul_pd(_mm256_sub_pd(*w, origin), inverse_scale);
    const __m256d g =
        _mm256_add_pd(_mm256_mul_pd(gradient, scale), _mm256_mul_pd(two_l2, v));
    MoveAlong(g, _mm256_mul_pd(step_size, scale), h, w);
  }

  SORTITION_AVX2 void MoveAlong(__m256d g, __m256d step, __m256d* h,
                                __m256d* w) {
    *h = _mm256_add_pd(*h, _mm256_mul_pd(g, g));
    const __m256d j = _mm256_div_pd(g, _mm256_sqrt_pd(*h));
    *w = _mm256_sub_pd(*w, _mm256_mul_pd(step, j));
    directions = _mm256_add_pd(directions, _mm256_mul_pd(j, j));
    points = _mm256_add_pd(points, _mm256_mul_pd(*w, *w));
  }
};

template <bool kFramed>
SORTITION_AVX2 void MoveAvx2(const Vectors& v, const EntryGroups& entries,
                             Sums* sums) {
  FourMover mover = {_mm256_set1_pd(v.step_size), _mm256_set1_pd(2 * v.l2),
                     _mm256_setzero_pd(), _mm256_setzero_pd()};
  const size_t full = entries.size / kLanes * kLanes;
  const __m256i rest = _mm256_cmpgt_epi64(
      _mm256_set1_epi64x(static_cast<int64_t>(entries.size - full)),
      _mm256_set_epi64x(3, 2, 1, 0));
  for (const uint32_t group : entries.groups) {
    size_t i = size_t{group} * entries.size;
    const size_t end = i + full;
    for (; i < end; i += kLanes) {
      __m256d h = _mm256_loadu_pd(v.accumulator + i);
      __m256d w = _mm256_loadu_pd(v.point + i);
      const __m256d gradient = _mm256_loadu_pd(v.gradient + i);
      if constexpr (kFramed) {
        mover.MoveFramed(gradient, _mm256_loadu_pd(v.origin + i),
                         _mm256_loadu_pd(v.scales + i),
                         _mm256_loadu_pd(v.inverse_scales + i), &h, &w);
      } else {
        mover.Move(gradient, &h, &w);
      }
      _mm256_storeu_pd(v.gradient + i, _mm256_setzero_pd());
      _mm256_storeu_pd(v.accumulator + i, h);
      _mm256_storeu_pd(v.point + i, w);
    }
    if (full == entries.size) continue;
    // Lanes beyond the end get w = g = s = 0 and h = 1: they do not move.
    __m256d h = _mm256_blendv_pd(_mm256_set1_pd(1),
                                 _mm256_maskload_pd(v.accumulator + i, rest),
                                 _mm256_castsi256_pd(rest));
    __m256d w = _mm256_maskload_pd(v.point + i, rest);
    const __m256d gradient = _mm256_maskload_pd(v.gradient + i, rest);
    if constexpr (kFramed) {
      mover.MoveFramed(gradient, _mm256_maskload_pd(v.origin + i, rest),
                       _mm256_maskload_pd(v.scales + i, rest),
                       _mm256_maskload_pd(v.inverse_scales + i, rest), &h, &w);
    } else {
      mover.Move(gradient, &h, &w);
    }
    _mm256_maskstore_pd(v.gradient + i, rest, _mm256_setzero_pd());
    _mm256_maskstore_pd(v.accumulator + i, rest, h);
    _mm256_maskstore_pd(v.point + i, rest, w);
  }
  _mm256_storeu_pd(sums->direction, mover.directions);
  _mm256_storeu_pd(sums->point, mover.points);
}
#endif

template <bool kFramed>
AdaGradStep MoveIn(const Vectors& v, const EntryGroups& entries) {
  Sums sums;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    MoveAvx2<kFramed>(v, entries, &sums);
    return StepOf(sums);
  }
#endif
  MovePortable<kFramed>(v, entries, &sums);
  return StepOf(sums);
}

}  // namespace

AdaGrad::AdaGrad(Eigen::Index dimension, double step_size,
                 const ParameterFrame& frame)
    : accumulator_(Eigen::VectorXd::Ones(dimension)), step_size_(step_size) {
  CHECK(step_size > 0);
  if (frame.is_trivial()) return;
  origin_ = frame.From(Eigen::VectorXd::Zero(dimension));
  scales_ =
      frame.scales.size() > 0 ? frame.scales : Eigen::VectorXd::Ones(dimension);
  inverse_scales_ = scales_.cwiseInverse();
}

AdaGradStep AdaGrad::Move(const EntryGroups& entries, double l2,
                          Eigen::VectorXd* gradient, Eigen::VectorXd* point) {
  const bool framed = scales_.size() > 0;
  const Vectors vectors = {
      .gradient = gradient->data(),
      .accumulator = accumulator_.data(),
      .point = point->data(),
      .step_size = step_size_,
      .l2 = l2,
      .origin = framed ? origin_.data() : nullptr,
      .scales = framed ? scales_.data() : nullptr,
      .inverse_scales = framed ? inverse_scales_.data() : nullptr};
  return framed ? MoveIn<true>(vectors, entries)
                : MoveIn<false>(vectors, entries);
}

AdaGradStep AdaGrad::Step(double l2, Eigen::VectorXd* gradient,
                          Eigen::VectorXd* point) {
  DCHECK(gradient->size() == accumulator_.size());
  DCHECK(point->size() == accumulator_.size());
  DCHECK(num_steps_ == 0);
  const uint32_t all = 0;
  return Move({{&all, 1}, static_cast<uint32_t>(accumulator_.size())}, l2,
              gradient, point);
}

AdaGradStep AdaGrad::StepSparse(double l2, const EntryGroups& entries,
                                Eigen::VectorXd* gradient,
                                Eigen::VectorXd* point) {
  DCHECK(gradient->size() == accumulator_.size());
  DCHECK(point->size() == accumulator_.size());
  if (l2 > 0) {
    if (num_steps_ == 0) {
      group_size_ = entries.size;
      done_.assign(accumulator_.size() / group_size_, 0);
    }
    DCHECK(entries.size == group_size_);
    ++num_steps_;
    for (const uint32_t group : entries.groups) {
      DCHECK(done_[group] + 1 == num_steps_);
      done_[group] = num_steps_;
    }
  }
  return Move(entries, l2, gradient, point);
}

void AdaGrad::CatchUp(double l2, const EntryGroups& entries,
                      Eigen::VectorXd* point) {
  if (num_steps_ == 0) return;
  DCHECK(entries.size == group_size_);
  const bool framed = scales_.size() > 0;
  const IdleSteps steps = {
      .step_size = step_size_,
      .l2 = l2,
      .accumulator = accumulator_.data(),
      .point = point->data(),
      .origin = framed ? origin_.data() : nullptr,
      .inverse_scales = framed ? inverse_scales_.data() : nullptr};
  sortition::CatchUp(steps, entries, num_steps_, done_);
}

void AdaGrad::CatchUpAll(double l2, Eigen::VectorXd* point) {
  if (num_steps_ == 0) return;
  std::vector<uint32_t> groups(done_.size());
  std::iota(groups.begin(), groups.end(), 0u);
  CatchUp(l2, {groups, group_size_}, point);
  num_steps_ = 0;
}

double AdaGrad::IdleDirectionNorm(double l2, const EntryGroups& entries,
                                  const Eigen::VectorXd& point) const {
  Eigen::ArrayXd gradient = 2 * l2 * point.array();
  if (scales_.size() > 0) {
    gradient = 2 * l2 * (point - origin_).array() * inverse_scales_.array();
  }
  for (const uint32_t group : entries.groups) {
    gradient.segment(Eigen::Index{group} * entries.size, entries.size) = 0;
  }
  const Eigen::ArrayXd square = gradient.square();
  return std::sqrt((square / (accumulator_.array() + square)).sum());
}

}  // namespace sortition
