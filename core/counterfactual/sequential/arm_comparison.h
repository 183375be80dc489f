#pragma once
// Two versions, canary and stable, that decide for units drawn by known
// probabilities: how much more one earns, at every moment.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/counterfactual/estimators.h"
#include "core/counterfactual/sequential/mixture_bets.h"

namespace sortition {

// A unit that came to one of the arms.
struct ArmRound {
  bool is_canary = false;
  // With which it would come to the canary, in (0, 1), given the rounds before.
  double canary_probability = 0.5;
  double reward = 0;  // In [0, 1].
};

// A hypothesis about D = μ_c - (1 - margin) μ_s + allowed, μ_c and μ_s the mean
// rewards of canary and stable: that D <= 0 or, with `against_better`, that D
// >= 0.
struct ArmHypothesis {
  double margin = 0;   // A share of μ_s, in [-1, 1].
  double allowed = 0;  // Above -1.
  bool against_better = false;
};

// Evidence against one hypothesis. With m the mean reward of the rounds before,
//   z = (r - m) ([canary] / q - (1 - margin) [stable] / (1 - q))
//       + margin m + allowed
// has the mean D in each round, whatever q and m are [HorvitzThompson52], and
// limits that q and m determine. So rounds of all stages count together.
class ArmEvidence {
 public:
  explicit ArmEvidence(const ArmHypothesis& hypothesis)
      : hypothesis_(hypothesis) {}

  // `mean` is m, in [0, 1].
  void Add(const ArmRound& round, double mean);

  const ArmHypothesis& hypothesis() const { return hypothesis_; }
  const MixtureBets& bets() const { return bets_; }

 private:
  ArmHypothesis hypothesis_;
  MixtureBets bets_;
};

class ArmComparison {
 public:
  // Evidence against each of the hypotheses is kept from the first round on.
  explicit ArmComparison(std::span<const ArmHypothesis> hypotheses);

  void Add(const ArmRound& round);

  uint64_t num_rounds() const { return num_rounds_; }
  uint64_t num_canary_rounds() const { return num_canary_; }
  // In the order of the hypotheses.
  const ArmEvidence& evidence(size_t i) const { return evidence_[i]; }

  // Returns μ_c - μ_s. Its value weighs rounds by q (1 - q), the inverse of
  // their variance; the interval is that of all differences against which
  // neither side has evidence of 2 / (1 - confidence): it holds at all times
  // together. O(rounds).
  Interval Difference(double confidence) const;
  double DifferenceValue() const;
  // Return the plain means of the arms' rounds; 0 without any.
  double CanaryMean() const;
  double StableMean() const;

  // Returns how many more rounds at the probability q it would take for the
  // evidence against hypothesis i to reach 1/α, were the estimates right: a
  // good bet wins D² / (2 V) a round, V the variance of z. nullopt: it would
  // never.
  std::optional<double> RoundsNeeded(size_t i, double alpha,
                                     double canary_probability) const;

 private:
  double MeanBefore() const;

  std::vector<ArmEvidence> evidence_;
  std::vector<ArmRound> rounds_;
  uint64_t num_rounds_ = 0;
  uint64_t num_canary_ = 0;
  double sum_ = 0;
  double squares_ = 0;
  double canary_sum_ = 0;
  double weighted_ = 0;  // Σ q (1 - q) z
  double weights_ = 0;
};

}  // namespace sortition
