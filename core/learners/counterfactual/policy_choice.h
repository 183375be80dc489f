#pragma once
// Ranks policies by estimates on the same validation tuples, to choose one.
#include <cstdint>
#include <span>

#include "core/counterfactual/diagnostics.h"

namespace sortition {

// The spans have equal sizes, with tuple i at index i.
struct GainSample {
  std::span<const double> rewards;      // In [0, 1].
  std::span<const double> log_weights;  // log ρ; -infinity: 0.
  // log ρ₀ of the policy to compare with. Empty: the logging policy, ρ₀ = 1.
  std::span<const double> other_log_weights = {};
  std::span<const double> counts = {};  // c; empty: each tuple counts once.
  // The unit of each tuple. Rewards of different units are independent. Empty:
  // each tuple is its own unit.
  std::span<const uint64_t> units = {};
};

// Estimated gain of a policy over another one.
struct Gain {
  double value = 0;  // g of SelfNormalisedGain(), in rewards.
  // S - S₀, without the charge for missing support.
  double of_supported = 0;
  double standard_error = 0;
  MeanWeight weight;                 // Of the policy: 1 is expected.
  double effective_sample_size = 0;  // (Σ c ρ)² / Σ c ρ²

  // Returns the value minus one standard error, by which policies are ranked;
  // the other policy has 0. The bound of the gate is not suitable, because it
  // holds for any weights and therefore ranks a policy that does not change
  // above most better ones. Without any subtraction, a few large weights would
  // look like a gain. Factors from 0 to 1 give similar choices on all sets and
  // simulated logs of docs/replications.md; 1 has the fewest choices that are
  // worse than the parent.
  double criterion() const { return value - standard_error; }
  // Returns false if the effective sample size is so small that a single tuple
  // with a large weight decides both the value and its standard error.
  bool has_standard_error() const {
    constexpr double kMinEffectiveTuples = 5;
    return effective_sample_size >= kMinEffectiveTuples;
  }
};

// Returns how much more the policy earns than the other one,
//   g = m S - m₀ S₀,  S = Σ c ρ r / Σ c ρ  [SwaminathanJoachims15b],
// paired by tuple. S does not depend on the scale of the weights, so that it
// has less noise than the mean of ρ r. But it ignores what was never logged: m
// = min(1, ρ̄ + 2 s), ρ̄ the mean weight and s its standard error, is the largest
// share of the policy that the log can support, and the rest counts as the
// smallest reward, 0. The standard error is that of the influence (delta
// method)
//   m ρ (r - S) / ρ̄ - m₀ ρ₀ (r - S₀) / ρ̄₀,
// in which m is taken for known. Influences of one unit are added up before
// they are squared, here and for s. A policy without any weight earns 0.
Gain SelfNormalisedGain(const GainSample& sample);

// Terms of a risk on the same validation tuples, in losses.
struct TermSample {
  std::span<const double> terms;
  std::span<const double> other_terms;  // Terms of the policy to compare with.
  std::span<const double> counts = {};
  std::span<const uint64_t> units = {};
};

// Returns how much smaller the mean of the terms is than that of the others,
// with the standard error of the difference; `gain` has what weights of whole
// actions say.
Gain GainOfTerms(const TermSample& sample, Gain gain);

}  // namespace sortition
