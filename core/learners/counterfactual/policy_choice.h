#pragma once
// Ranks policies by estimates on the same validation tuples, to choose one.
#include <span>

#include "core/counterfactual/diagnostics.h"

namespace sortition {

// The spans have equal sizes, with tuple i at index i.
struct GainSample {
  std::span<const double> rewards;      // In [0, 1].
  std::span<const double> log_weights;  // log ρ; -infinity: 0.
  // log ρ₀ of the policy to compare with; empty: the one that logged, ρ₀ = 1.
  std::span<const double> other_log_weights = {};
  std::span<const double> counts = {};  // c; empty: each tuple counts once.
};

struct Gain {
  double value = 0;  // In rewards.
  // S - S₀, without the charge for what was never logged.
  double of_supported = 0;
  double standard_error = 0;
  MeanWeight weight;                 // Of the policy: 1 is expected.
  double effective_sample_size = 0;  // (Σ c ρ)² / Σ c ρ²

  // The value less a standard error. Policies are ranked by it; the other
  // policy has 0. The bound of the gate holds with its confidence however large
  // weights are, and therefore ranks a policy that stands still above most that
  // are better. No subtraction at all would take a few large weights for a
  // gain.
  // Factors from 0 to 1 choose much the same on all sets and simulated logs of
  // docs/replications.md; 1 has the fewest choices that are worse than the
  // parent.
  double criterion() const { return value - standard_error; }
  // Whether the standard error says something: with fewer effective tuples than
  // these, one tuple with a large weight decides both.
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
// in which m is taken for known. A policy without any weight earns 0.
Gain SelfNormalisedGain(const GainSample& sample);

}  // namespace sortition
