#pragma once
// Softmax selection with abstention, mixed with uniform (seed 004, sec. 5.1,
// 7):
//   h(d) = (1-ε) exp(α s(d)) / Z + ε / c,  Z over the c actions: the candidates
// and, where abstaining is allowed, the dummy d0 with its constant score.
#include <vector>

#include "core/policies/action_distribution.h"
#include "core/policies/log_mixture.h"

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
  void ConditionalLogPropensities(
      const ScoredCandidates& candidates, std::span<const int32_t> action,
      std::vector<double>* conditionals) const override;
  double LogPropensityGradient(const ScoredCandidates& candidates,
                               std::span<const int32_t> action,
                               std::span<double> score_gradient,
                               double* abstain_gradient) const override;
  Action Mode(const ScoredCandidates& candidates) const override;
  double FirstProbabilities(const ScoredCandidates& candidates,
                            std::span<double> probabilities) const override;

 private:
  double alpha_;
  LogMixture mixture_;
};

}  // namespace sortition
