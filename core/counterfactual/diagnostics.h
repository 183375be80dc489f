#pragma once
// How far a log supports an estimate: how the importance weights of a policy
// spread over its tuples, and whether the logged propensities can be right.
// [SwaminathanJoachims15, sec. 4.5]; what the numbers mean to the reader is in
// core/counterfactual/findings.h.
//
// Propensities are judged by the weights q(y|x) / p of the uniform policy q
// over the actions of each tuple. Right propensities give, whatever the log,
//   E[q/p] <= 1,  and  P(some tuple of n has q/p >= W) <= n / W  (Markov),
// with equality of the first where every action could be drawn. It is the mean
// weight test for a policy whose weights a mixture with uniform bounds by 1/ε.
// The same holds of the weights ρ of any policy that was not made from these
// tuples.
#include <cstdint>
#include <span>

namespace sortition {

// Sizes are equal; tuple i at place i.
struct OverlapSample {
  // log ρᵢ; -infinity where the policy cannot choose the action, and where
  // something else was shown (`shown_otherwise` of them).
  std::span<const double> log_weights;
  std::span<const double> log_propensities;
  std::span<const double> log_uniform;  // log q(yᵢ|xᵢ), finite.
  uint64_t shown_otherwise = 0;
  // Logged by policies that gave some actions probability 0.
  uint64_t without_full_support = 0;
  // Tuples that are not in the spans because neither policy can take their
  // action: they weigh 0 in the means, which without them would be those of a
  // log that depends on the action, and above 1.
  uint64_t impossible = 0;
  double clip = 1;  // M >= 1; infinity: not clipped.
};

// A mean with its standard error, √(sample variance / n).
struct MeanWeight {
  double value = 0;
  double error = 0;
};

struct Overlap {
  uint64_t num_tuples = 0;
  MeanWeight weight;                 // Of ρ: 1 in expectation, full support.
  double effective_sample_size = 0;  // (Σ ρ)² / Σ ρ²
  double largest_share = 0;          // Of one tuple in Σ ρ.
  uint64_t half_weight_tuples = 0;   // Fewest with half of Σ ρ; 0: Σ ρ = 0.
  double clip = 1;                   // M
  double clipped_fraction = 0;       // Of tuples with ρ > M.
  double clipped_mass = 0;           // Σ (ρ - M)⁺ / Σ ρ
  // Of ρ; the q-th is the ⌈q n⌉-th smallest.
  double median_weight = 0;
  double weight_p90 = 0;
  double weight_p99 = 0;
  double largest_weight = 0;
  double smallest_propensity = 1;
  double deterministic_fraction = 0;    // Of tuples with p = 1.
  double shown_otherwise_fraction = 0;  // Weight 0 whatever the policy.
  double without_full_support_fraction = 0;
  MeanWeight uniform_weight;  // Of q/p: at most 1 in expectation.
  double largest_uniform_weight = 0;
};

// All zero where there are no tuples. O(n log n).
Overlap MeasureOverlap(const OverlapSample& sample);

}  // namespace sortition
