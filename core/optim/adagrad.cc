#include "core/optim/adagrad.h"

#include <cmath>
#include <cstddef>

#include "core/base/check.h"

namespace sortition {
namespace {

constexpr size_t kLanes = 8;

struct Vectors {
  double* gradient;
  double* accumulator;
  double* point;
  double step_size;
  double l2;
};

// Sums of squares, entry i in lane i mod 8: the same bits however wide the
// processor's vectors are.
struct Sums {
  double direction[kLanes] = {};
  double point[kLanes] = {};
};

// Entry i, in lane `lane`. Branch-free, so that loops over it vectorise.
inline __attribute__((always_inline)) void Move(const Vectors& v, size_t i,
                                                size_t lane, Sums* sums) {
  const double gradient = v.gradient[i] + 2 * v.l2 * v.point[i];
  const double accumulated = v.accumulator[i] + gradient * gradient;
  const double direction = gradient / std::sqrt(accumulated);
  const double point = v.point[i] - v.step_size * direction;
  v.gradient[i] = 0;
  v.accumulator[i] = accumulated;
  v.point[i] = point;
  sums->direction[lane] += direction * direction;
  sums->point[lane] += point * point;
}

inline __attribute__((always_inline)) void MoveRange(const Vectors& v,
                                                     size_t size, Sums* sums) {
  Sums local;  // The compiler knows that no vector is stored there.
  const size_t full = size / kLanes * kLanes;
  for (size_t i = 0; i < full; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      Move(v, i + lane, lane, &local);
    }
  }
  for (size_t i = full; i < size; ++i) Move(v, i, i - full, &local);
  *sums = local;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void MoveRangeAvx2(const Vectors& v,
                                                   size_t size, Sums* sums) {
  MoveRange(v, size, sums);
}
#endif

void MoveAll(const Vectors& v, size_t size, Sums* sums) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return MoveRangeAvx2(v, size, sums);
#endif
  MoveRange(v, size, sums);
}

double Add(const double* lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

AdaGradStep StepOf(const Sums& sums) {
  return {std::sqrt(Add(sums.direction)), Add(sums.point)};
}

}  // namespace

AdaGrad::AdaGrad(Eigen::Index dimension, double step_size)
    : accumulator_(Eigen::VectorXd::Ones(dimension)), step_size_(step_size) {
  CHECK(step_size > 0);
}

AdaGradStep AdaGrad::Step(double l2, Eigen::VectorXd* gradient,
                          Eigen::VectorXd* point) {
  DCHECK(gradient->size() == accumulator_.size());
  DCHECK(point->size() == accumulator_.size());
  Sums sums;
  MoveAll(
      {gradient->data(), accumulator_.data(), point->data(), step_size_, l2},
      static_cast<size_t>(accumulator_.size()), &sums);
  return StepOf(sums);
}

AdaGradStep AdaGrad::StepSparse(const EntryGroups& entries,
                                Eigen::VectorXd* gradient,
                                Eigen::VectorXd* point) {
  DCHECK(gradient->size() == accumulator_.size());
  DCHECK(point->size() == accumulator_.size());
  const Vectors v = {gradient->data(), accumulator_.data(), point->data(),
                     step_size_, 0};
  Sums sums;
  for (const uint32_t group : entries.groups) {
    const size_t first = size_t{group} * entries.size;
    for (size_t k = 0; k < entries.size; ++k) {
      Move(v, first + k, k % kLanes, &sums);
    }
  }
  return StepOf(sums);
}

}  // namespace sortition
