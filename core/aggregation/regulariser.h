#pragma once
// λ d(x‖σ) beside another objective (eq. 23): pulls scores towards an order
// that is trusted, and leaves alone those that agree with it.
#include <span>

#include "absl/status/status.h"
#include "core/aggregation/submodular_function.h"

namespace sortition {

// λ d(x‖σ); adds to `gradient` the subgradient λ (h_σx - h_σ), of the order of
// x with ties as σ has them: 0 where σ orders x. Requires a valid order.
double AddOrderPenalty(const SubmodularFunction& f,
                       std::span<const uint32_t> order, double lambda,
                       std::span<const double> x, std::span<double> gradient);

// argmin_x |x - z|² / 2 + λ d(x‖σ), the proximal operator. O(n log n): f̂ of a
// function of cardinality is Σ δ(r) x_(r), so with u = z + λ h_σ in falling
// order, x is the isotonic regression of u_(r) - λ δ(r), the falling sequence
// nearest to it, by pooling adjacent violators. InvalidArgument where sizes
// differ, λ is negative or not finite, or the order is none.
absl::Status ProximalOrder(const CardinalityFunction& f,
                           std::span<const uint32_t> order, double lambda,
                           std::span<const double> z, std::span<double> x);

}  // namespace sortition
