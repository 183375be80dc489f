#pragma once
// Off-policy estimates of a policy's expected reward from bandit tuples, with
// confidence intervals. Streaming: one pass, constant memory.
//
// Notation: reward rᵢ in [0, 1], importance weight ρᵢ = h(yᵢ|xᵢ) / pᵢ, clipped
// wᵢ = min{M, ρᵢ}; v = E_h[r] is what is estimated, v₀ = E[r] is the logging
// policy's. γ = 1 - confidence. Each side of an interval fails with probability
// at most γ/2 (the union bound gives γ for both).
//
// Logging policy: mean r, empirical-Bernstein interval.
//
// Clipped IPS: mean of r·w. Clipping and missing support only take away, so
//   (L)  E[r w] <= v.
// From the other side, E[(1-r) w] <= E_h[1-r] = 1 - v in the same way, so
//   (U)  v <= 1 - E[(1-r) w].
// The lower end is the empirical-Bernstein lower bound of E[r w] at γ/2; the
// upper end is 1 - the lower bound of E[(1-r) w] at γ/2. (U) is E[r w] plus the
// mass that clipping lost, 1 - E[w], counted with the best reward, 1; taking it
// as one mean needs one bound at γ/2 instead of two at γ/4. Both are rigorous
// for any M fixed before the tuples were seen, and without full support.
//
// Improvement v - v₀, paired per tuple: value mean(r w - r), in [-1, M-1], is
// an underestimate by (L), so its lower bound is conservative: this is the
// gate's number. Upper end by (U): mean of (1-r)(1-w), in [-(M-1), 1].
//
// Self-normalised IPS [SwaminathanJoachims15b]: S = Σ rρ / Σ ρ, not clipped.
// Its interval is S ± z √(Σ ρ²(r-S)²) / Σ ρ (delta method, normal quantile z):
// asymptotic, not guaranteed for a finite number of tuples. Shifting every r by
// c shifts S by c.
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
// The slack is what is subtracted; the same on the other side. Infinite where
// n < 2.
double EmpiricalBernsteinSlack(const Moments& moments, double range,
                               double failure_probability);

// Quantile of the standard normal: Φ(z) = probability, in (0, 1). Absolute
// error below 1e-9.
double NormalQuantile(double probability);

// Quantile of Student's t with `freedom` >= 1 degrees, for a probability in
// (0.5, 1): P(T < t) = probability. From the finite sums of
// [AbramowitzStegun64, 26.7.3 and 26.7.4]; relative error below 1e-9 for
// quantiles up to 1e6. O(freedom).
double StudentQuantile(double probability, uint64_t freedom);

struct OffPolicyEstimates {
  uint64_t num_tuples = 0;
  Interval logging;                  // v₀
  Interval ips;                      // v, clipped IPS
  Interval snips;                    // v, self-normalised, asymptotic
  Interval improvement;              // v - v₀
  double unclipped_ips = 0;          // Eq. 1: unbiased where support is full.
  double effective_sample_size = 0;  // (Σ ρ)² / Σ ρ²
  double clipped_fraction = 0;       // Of tuples with ρ > M.
};

class OffPolicyEstimator {
 public:
  // Requires clip M >= 1.
  explicit OffPolicyEstimator(double clip);

  // `reward` in [0, 1]; `log_weight` = log ρ, -infinity where h cannot choose
  // the logged action.
  void Add(double reward, double log_weight);

  // Requires confidence in (0, 1). The bounds are cut to the possible range.
  OffPolicyEstimates Estimate(double confidence) const;

 private:
  double clip_;
  uint64_t clipped_ = 0;
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

// The M of a fixed list in [1, 1000] whose lower bound of the improvement would
// be highest on `num_evaluation_tuples` tuples like these: a small M costs
// bias, a large one range and variance. Chosen on other tuples than those
// evaluated, so that the intervals stay rigorous. Requires equal sizes.
double ChooseEvaluationClip(std::span<const double> rewards,
                            std::span<const double> log_weights,
                            uint64_t num_evaluation_tuples, double confidence);

// Of how many M that function chooses: where the tuples that are evaluated are
// the same, an interval of failure probability γ / kNumEvaluationClips holds at
// γ, since all of them at once do.
inline constexpr int kNumEvaluationClips = 18;

}  // namespace sortition
