#pragma once
// Measures how well a log supports an estimate: how the importance weights of a
// policy are distributed over the tuples, and whether the logged propensities
// can be right [SwaminathanJoachims15, sec. 4.5].
// core/counterfactual/findings.h explains the numbers in words.
//
// Propensities are checked with the weights q(y|x) / p of the uniform policy q
// over the actions of each tuple. If the propensities are right, then for any
// log
//   E[q/p] <= 1,  and  P(some tuple of n has q/p >= W) <= n / W  (Markov),
// with equality in the first if every action could be drawn. If the logging
// policy was mixed with the uniform one, the weights q/p are at most 1/ε, so
// that the mean is a precise test. The same holds for the weights ρ of any
// policy that was not made from these tuples.
#include <cstdint>
#include <span>

namespace sortition {

// The spans have equal sizes, with tuple i at index i.
struct OverlapSample {
  // log ρᵢ; -infinity if the policy cannot choose the action, or if something
  // else was shown (`shown_otherwise` tuples).
  std::span<const double> log_weights;
  std::span<const double> log_propensities;
  std::span<const double> log_uniform;  // log q(yᵢ|xᵢ), finite.
  uint64_t shown_otherwise = 0;
  // Number of tuples logged by policies that gave some actions probability 0.
  uint64_t without_full_support = 0;
  // Number of tuples that are not in the spans because neither policy can take
  // their action. They count with weight 0 in the means. Without them the
  // tuples would be selected by their action, and the mean weight would be
  // above 1.
  uint64_t impossible = 0;
  double clip = 1;  // M >= 1; infinity: no clipping.
};

// A mean with its standard error, √(sample variance / n).
struct MeanWeight {
  double value = 0;
  double error = 0;
};

struct Overlap {
  uint64_t num_tuples = 0;
  MeanWeight weight;                 // Mean ρ; about 1 if full support.
  double effective_sample_size = 0;  // (Σ ρ)² / Σ ρ²
  double largest_share = 0;          // Largest share of one tuple in Σ ρ.
  // The smallest number of tuples that have half of Σ ρ; 0 if Σ ρ = 0.
  uint64_t half_weight_tuples = 0;
  double clip = 1;              // M
  double clipped_fraction = 0;  // Share of tuples with ρ > M.
  double clipped_mass = 0;      // Σ (ρ - M)⁺ / Σ ρ
  // Quantiles of ρ: the q-quantile is the ⌈q n⌉-th smallest.
  double median_weight = 0;
  double weight_p90 = 0;
  double weight_p99 = 0;
  double largest_weight = 0;
  double smallest_propensity = 1;
  double deterministic_fraction = 0;    // Share of tuples with p = 1.
  double shown_otherwise_fraction = 0;  // Weight 0 for any policy.
  double without_full_support_fraction = 0;
  MeanWeight uniform_weight;  // Mean q/p; its expectation is at most 1.
  double largest_uniform_weight = 0;
};

// Returns the measures of `sample`; all are 0 if there are no tuples. O(n log
// n).
Overlap MeasureOverlap(const OverlapSample& sample);

}  // namespace sortition
