#pragma once
// Subsets of the candidates, each of which is in independently of the others,
// mixed with uniform:
//   h(S) = (1-ε) Π_{i in S} σ(l_i) Π_{i not in S} σ(-l_i) + ε / 2^m,
//   l_i = α (s_i - threshold).
// For a fixed size k both parts are conditioned on k candidates being in: the
// threshold then does not matter, and the uniform part is over the sets of that
// size. A draw and a probability cost O(m), for a fixed size k O(m k). Where m
// k is above 1e7, all log-propensities are -infinity.
#include <vector>

#include "core/base/log_mixture.h"
#include "core/policies/distributions/action_distribution.h"

namespace sortition {

class IndependentSubsetDistribution : public ActionDistribution {
 public:
  // Requires values in the ranges of model.proto. `size` is that of subsets
  // whose size the caller does not ask for; 0: any size.
  IndependentSubsetDistribution(double inverse_temperature,
                                double uniform_mixture, uint32_t size)
      : alpha_(inverse_temperature), mixture_(uniform_mixture), size_(size) {}

  ActionKind action_kind() const override { return ActionKind::kSubset; }
  void Sample(const ScoredCandidates& candidates, const CounterRandom& random,
              Draw* draw) const override;
  double LogPropensity(const ScoredCandidates& candidates,
                       std::span<const int32_t> action) const override;
  bool has_gradient() const override { return true; }
  double LogPropensityGradient(const ScoredCandidates& candidates,
                               std::span<const int32_t> action,
                               std::span<double> score_gradient,
                               double* abstain_gradient) const override;
  Action Mode(const ScoredCandidates& candidates) const override;
  double FirstProbabilities(const ScoredCandidates& candidates,
                            std::span<double> probabilities) const override;

 private:
  // Returns the size to draw, at most m; 0: any size.
  size_t SizeOf(const ScoredCandidates& candidates) const;
  // Whether `action` ascends and has the right size. If so, marks its members
  // in scratch->taken.
  bool IsWellFormed(const ScoredCandidates& candidates,
                    std::span<const int32_t> action,
                    DistributionScratch* scratch) const;

  // Returns log h of the subset in scratch->taken and, where 0 < ε < 1, writes
  // the log-odds that the policy part drew it.
  double LogMixed(const ScoredCandidates& candidates,
                  DistributionScratch* scratch, double* log_odds) const;
  // As LogMixed(), given log p of a subset of a fixed size.
  double LogMixedSized(const ScoredCandidates& candidates, size_t size,
                       double log_p, double* log_odds) const;
  // Writes σ(l) of each candidate: its probability to be in a subset of any
  // size.
  void PolicyProbabilities(const ScoredCandidates& candidates,
                           std::span<double> probabilities) const;
  // Sets the logits of scratch->sized_subset. Returns false beyond its limit.
  bool SetLogits(const ScoredCandidates& candidates, size_t size,
                 DistributionScratch* scratch) const;

  double alpha_;
  LogMixture mixture_;
  uint32_t size_;
};

}  // namespace sortition
