#pragma once
// Regression of the relevance, pulled towards trusted orders:
//   min_v J(v) = |Zv - y|² + vᵀPv + c Σ_q d((Zv)_q‖σ_q),  c = weight / N,
// where Z has the rows (x_i, 1) of all candidates, v = (w, b), and P is l2
// except for b, where it is 0.
//
// It is solved by the alternating direction method of multipliers [BoydEtAl11,
// sec. 3] with z = Zv, the scaled multiplier u and the penalty ρ = 2:
//   z: argmin |z - y|² + c d(z) + |z - (Zv + u)|²: query by query the proximal
//      operator of c/4 d at (y + Zv + u) / 2 (core/aggregation/regulariser.h);
//   v: argmin vᵀPv + |Zv - (z - u)|²: a ridge regression, factored once;
//   u: u + Zv - z.
//
// The bound: the z step leaves a subgradient p = 2 (y + Zv + u) - 4 z of c d at
// z. c d is positively homogeneous, so p·x <= c d(x) everywhere, and
//   min J >= min_v |Zv - y|² + vᵀPv + p·Zv.
// The right-hand side is a ridge regression with the same matrix and targets y
// - p/2. Its solution is also another point to try. The search ends when the
// bound closes the gap.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/labelled_items.h"
#include "core/data/labelled_queries.h"
#include "core/learners/labelled/trusted_orders.h"

namespace sortition {

// Gap that the search aims at, as a share of J, or of kLeastPulledObjective if
// J is smaller (it can be 0), and the maximum number of iterations.
inline constexpr double kPulledRegressionGap = 1e-5;
inline constexpr double kLeastPulledObjective = 1e-6;
inline constexpr uint32_t kMostPulledIterations = 5000;

struct PulledRegressionResult {
  std::vector<double> weights;
  double intercept = 0;
  double objective = 0;  // J
  // Lower bound of min J, up to the accuracy of ridge.h. With more columns than
  // kMaxDirectColumns it is no proof.
  double dual_bound = 0;
  bool is_proved = false;
  uint32_t iterations = 0;
  double primal_residual = 0;  // |Zv - z| at the end.
  double dual_residual = 0;    // ρ |Zᵀ(z - z')|, z' the previous z.
  double gap() const { return objective - dual_bound; }
  double gap_tolerance() const {  // Absolute.
    return kPulledRegressionGap * std::max(objective, kLeastPulledObjective);
  }
  bool closed() const { return gap() <= gap_tolerance(); }
};

// Deterministic. InvalidArgument for the reasons of CheckQueries(), and if l2
// or the weight is not finite and at least 0. Requires orders of `queries`.
absl::StatusOr<PulledRegressionResult> FitPulledRelevance(
    std::span<const LabelledItems> queries, double l2, const OrderPull& pull);

}  // namespace sortition
