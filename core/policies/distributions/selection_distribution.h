#pragma once
// Softmax selection with abstention, mixed with uniform (seed 004, sec. 5.1
// and 7):
//   h(d) = (1-ε) exp(α s(d)) / Z + ε / c,  Z over the c actions: the candidates
// and, where abstaining is allowed, the dummy d0 with its constant score.
#include <vector>

#include "core/base/log_mixture.h"
#include "core/policies/distributions/action_distribution.h"

namespace sortition {

class SelectionDistribution : public ActionDistribution {
 public:
  SelectionDistribution(double inverse_temperature, double uniform_mixture)
      : alpha_(inverse_temperature), mixture_(uniform_mixture) {}

  ActionKind action_kind() const override { return ActionKind::kSelect; }
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
  // exp(l - max) of all actions, a view of scratch->values; abstaining is last.
  struct Weights {
    std::span<const double> values;
    double max = 0;        // Largest logit.
    double log_total = 0;  // log Σ values, exact also where it is near 0.
  };
  Weights ComputeWeights(const ScoredCandidates& candidates,
                         DistributionScratch* scratch) const;
  double LogMixed(const ScoredCandidates& candidates, const Weights& weights,
                  int32_t action, double* log_odds) const;

  double alpha_;
  LogMixture mixture_;
};

}  // namespace sortition
