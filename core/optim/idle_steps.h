#pragma once
// Steps that AdaGrad (core/optim/adagrad.h) owes to entries whose loss has no
// gradient, made many at once. With v = (w - w₀) / s and c = 2 μ, such a step
//   h ← h + (c v)²,   v ← v - η c v / √h
// depends on the entry alone, so that it can wait until the entry is read.
//
// While h hardly grows, n steps multiply v by (1 - a)ⁿ, a = η c / √h. n is
// limited so that they add at most 1e-5 of h to it; a is taken at the mean of h
// over them, and more steps begin from there. What 20,000 steps give is within
// 1e-8 of the longest v on the way (tests/core/optim/idle_steps_test.cc has the
// range), the worst where a step turns v around (a near 2); with n a below 1e-3
// it is within 5e-12. Steps that alone add more are made one by one.
#include <cstdint>
#include <span>

#include "core/optim/entry_groups.h"

namespace sortition {

struct IdleSteps {
  double step_size = 1;           // η > 0
  double l2 = 0;                  // μ
  double* accumulator = nullptr;  // h
  double* point = nullptr;        // w
  // Both null in the trivial frame.
  const double* origin = nullptr;          // w₀
  const double* inverse_scales = nullptr;  // 1 / s
};

// Makes the steps that each of `entries` lacks: `now` less the number that
// `done` has for its group, which becomes `now`. Results are bit-identical on
// every processor.
void CatchUp(const IdleSteps& steps, const EntryGroups& entries, uint32_t now,
             std::span<uint32_t> done);

namespace internal {

// Makes `count` steps with one entry.
void MakeIdleSteps(double step_size, double l2, uint32_t count, double* v,
                   double* h);

}  // namespace internal

}  // namespace sortition
