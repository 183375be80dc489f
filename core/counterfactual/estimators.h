#pragma once
// Off-policy estimates of a policy's expected reward from bandit tuples, with
// confidence intervals, in one pass with constant memory.
//
// Notation: reward rᵢ in [0, 1], importance weight ρᵢ = h(yᵢ|xᵢ) / pᵢ, clipped
// wᵢ = min{M, ρᵢ}. The estimated value is v = E_h[r]; v₀ = E[r] is that of the
// logging policy. γ = 1 - confidence. Each side of an interval fails with
// probability at most γ/2 (the union bound gives γ for both).
//
// Logging policy: mean r, empirical-Bernstein interval.
//
// Clipped IPS: mean of r·w. Clipping and missing support can only lower it, so
//   (L)  E[r w] <= v.
// In the same way E[(1-r) w] <= E_h[1-r] = 1 - v, so
//   (U)  v <= 1 - E[(1-r) w].
// The lower end is the empirical-Bernstein lower bound of E[r w] at γ/2; the
// upper end is 1 - the lower bound of E[(1-r) w] at γ/2. (U) is E[r w] plus the
// mass that clipping lost, 1 - E[w], counted with the best reward, 1.
// Estimating it as one mean needs one bound at γ/2 instead of two at γ/4. Both
// ends are rigorous for any M that was fixed before the tuples were seen, even
// without full support.
//
// Improvement v - v₀, paired per tuple: value mean(r w - r), in [-1, M-1], is
// an underestimate by (L), so its lower bound is conservative; the gate uses
// this number. The upper end follows from (U): mean of (1-r)(1-w), in [-(M-1),
// 1].
//
// Self-normalised IPS [SwaminathanJoachims15b]: S = Σ rρ / Σ ρ, not clipped.
// Its interval is S ± z √(Σ ρ²(r-S)²) / Σ ρ (delta method, normal quantile z):
// asymptotic, so not guaranteed for a finite number of tuples. Shifting every r
// by c shifts S by c.
#include <cstdint>
#include <span>

#include "core/counterfactual/moments.h"

namespace sortition {

struct Interval {
  double value = 0;
  double lower = 0;
  double upper = 0;
};

// One-sided empirical-Bernstein bounds of a mean [MaurerPontil09, Theorem 4]:
// for Z in [a, b], with probability at least 1 - failure_probability,
//   E[Z] >= mean - √(2 V ln(2/γ) / n) - (b - a) 7 ln(2/γ) / (3 (n - 1)).
// Returns the slack, the sum of the two subtracted terms, which is the same for
// the upper bound. Infinity if n < 2.
double EmpiricalBernsteinSlack(const Moments& moments, double range,
                               double failure_probability);
// The same of a sample variance V of n = `count` numbers.
double EmpiricalBernsteinSlack(double count, double variance, double range,
                               double failure_probability);

// Returns the quantile z of the standard normal distribution: Φ(z) =
// `probability`, in (0, 1). Absolute error below 1e-9.
double NormalQuantile(double probability);

// Returns the quantile t of Student's distribution with `freedom` >= 1 degrees
// of freedom for a probability in (0.5, 1): P(T < t) = `probability`. Uses the
// finite sums of [AbramowitzStegun64, 26.7.3 and 26.7.4]; relative error below
// 1e-9 for quantiles up to 1e6. O(freedom).
double StudentQuantile(double probability, uint64_t freedom);

struct OffPolicyEstimates {
  uint64_t num_tuples = 0;
  Interval logging;                  // v₀
  Interval ips;                      // v, clipped IPS
  Interval snips;                    // v, self-normalised, asymptotic
  Interval improvement;              // v - v₀
  double unclipped_ips = 0;          // Eq. 1; unbiased if full support.
  double effective_sample_size = 0;  // (Σ ρ)² / Σ ρ²
  double clipped_fraction = 0;       // Share of tuples with ρ > M.
};

class OffPolicyEstimator {
 public:
  // Requires clip M >= 1.
  explicit OffPolicyEstimator(double clip);

  // Adds a tuple. `reward` is in [0, 1]; `log_weight` = log ρ, -infinity if h
  // cannot choose the logged action. It counts as `count` > 0 tuples; bounds
  // are those of the sum of all counts.
  void Add(double reward, double log_weight, double count = 1);

  // Returns the estimates from all tuples added so far. Requires confidence in
  // (0, 1). The bounds are cut to the possible range.
  OffPolicyEstimates Estimate(double confidence) const;

 private:
  double clip_;
  double clipped_ = 0;
  Moments reward_;             // r
  Moments clipped_reward_;     // r w
  Moments clipped_regret_;     // (1-r) w
  Moments improvement_lower_;  // r w - r
  Moments improvement_upper_;  // (1-r)(1-w)
  Moments weighted_reward_;    // r ρ
  // Sums for the self-normalised estimate.
  double weight_ = 0;                   // Σ ρ
  double weight_squares_ = 0;           // Σ ρ²
  double weight_squares_reward_ = 0;    // Σ ρ² r
  double weight_squares_reward_2_ = 0;  // Σ ρ² r²
};

// Returns the M, from a fixed list in [1, 1000], with which the lower bound of
// the improvement would be highest on `num_evaluation_tuples` tuples like
// these: a small M costs bias, a large M increases range and variance. The
// tuples given here must not be those of the evaluation, so that its intervals
// stay rigorous. `counts` has what each tuple counts as; empty: 1. Requires
// equal sizes.
double ChooseEvaluationClip(std::span<const double> rewards,
                            std::span<const double> log_weights,
                            uint64_t num_evaluation_tuples, double confidence,
                            std::span<const double> counts = {});

// The length of that list. If M was chosen on the evaluated tuples themselves,
// an interval with failure probability γ / kNumEvaluationClips still holds with
// failure probability γ, by the union bound over the list.
inline constexpr int kNumEvaluationClips = 18;

}  // namespace sortition
