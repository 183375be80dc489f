#pragma once
// The Lovász-Mallows density of scores around an order [IyerBilmes13, eq. 20].
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "core/aggregation/submodular_function.h"

namespace sortition {

// An estimate and its standard error; 0: exact up to rounding.
struct Normaliser {
  double value = 0;
  double standard_error = 0;
};

// Z(θ) of p(x | θ, σ) = exp(-θ d(x‖σ)) / Z(θ), scores x in [0, 1]^n (eq. 20);
// it is the same for all σ. Exact for n <= 7: where x has the order π, d is
// linear, x a mixture of the corners 1_{S_j} of a simplex, so that the integral
// is the divided difference of exp at -θ d(1_{S_j}‖σ) [Hermite and Genocchi],
// summed over all π. Otherwise from `samples` uniform x. InvalidArgument where
// θ is negative or not finite, there is no item, or no sample and n > 7.
absl::StatusOr<Normaliser> ScoreNormaliser(const CardinalityFunction& f,
                                           double theta, uint64_t samples,
                                           uint64_t seed);

// exp[t_0, .., t_n], the divided difference: of rising order, symmetric, equal
// nodes allowed. Relative error near n + |largest - least node| ulp.
double ExpDividedDifference(std::span<const double> nodes);

}  // namespace sortition
