#pragma once
// The normaliser of the Lovász-Mallows density of scores around an order
// [IyerBilmes13, eq. 20].
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "core/aggregation/submodular_function.h"

namespace sortition {

// An estimate and its standard error. A standard error of 0 means that the
// value is exact up to rounding.
struct Normaliser {
  double value = 0;
  double standard_error = 0;
};

// Returns Z(θ) of the density p(x | θ, σ) = exp(-θ d(x‖σ)) / Z(θ) of scores x
// in [0, 1]^n (eq. 20); it is the same for all σ. Exact for n <= 7: the points
// x with the same order π form a simplex with corners 1_{S_j} on which d is
// linear, so that the integral over it is the divided difference of exp at the
// nodes -θ d(1_{S_j}‖σ) [Hermite and Genocchi]; Z sums these over all π. For n
// > 7 it is estimated from `samples` uniform x. InvalidArgument if θ is
// negative or not finite, if there is no item, or if n > 7 and there are fewer
// than 2 samples.
absl::StatusOr<Normaliser> ScoreNormaliser(const CardinalityFunction& f,
                                           double theta, uint64_t samples,
                                           uint64_t seed);

// Returns the divided difference exp[t_0, .., t_n]. It is symmetric in the
// nodes, which may be equal. Its relative error is about n + |largest -
// smallest node| ulp.
double ExpDividedDifference(std::span<const double> nodes);

}  // namespace sortition
