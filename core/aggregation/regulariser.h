#pragma once
// The penalty λ d(x‖σ) that can be added to an objective (eq. 23). It pulls
// scores towards a trusted order and does not change scores that agree with it.
#include <span>

#include "absl/status/status.h"
#include "core/aggregation/submodular_function.h"

namespace sortition {

// Returns λ d(x‖σ) and adds the subgradient λ (h_σx - h_σ) to `gradient`, where
// ties in σ_x are broken by σ. Both are 0 if σ orders x. Requires a valid
// order.
double AddOrderPenalty(const SubmodularFunction& f,
                       std::span<const uint32_t> order, double lambda,
                       std::span<const double> x, std::span<double> gradient);

// Writes the proximal operator argmin_x |x - z|² / 2 + λ d(x‖σ) to `x`. O(n log
// n): f̂ of a function of cardinality is Σ δ(r) x_(r), so with u = z + λ h_σ in
// decreasing order, x is the isotonic regression of u_(r) - λ δ(r), that is,
// the closest decreasing sequence, computed by pooling adjacent violators.
// InvalidArgument if sizes differ, if λ is negative or not finite, or if
// `order` is not a valid order.
absl::Status ProximalOrder(const CardinalityFunction& f,
                           std::span<const uint32_t> order, double lambda,
                           std::span<const double> z, std::span<double> x);

}  // namespace sortition
