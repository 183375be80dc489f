#pragma once
// Subsets of the candidates, each in on its own, mixed with uniform:
//   h(S) = (1-ε) Π_{i in S} σ(l_i) Π_{i not in S} σ(-l_i) + ε / 2^m,
//   l_i = α (s_i - threshold).
// Costs O(m) for a draw, as for a probability.
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/log_mixture.h"
#include "core/policies/action_distribution.h"

namespace sortition {

class IndependentSubsetDistribution : public ActionDistribution {
 public:
  // InvalidArgument where the threshold is not finite or beyond ±1e6. Requires
  // inverse_temperature and uniform_mixture in their ranges.
  static absl::StatusOr<std::unique_ptr<const ActionDistribution>> Create(
      double inverse_temperature, double uniform_mixture,
      const model::v1::IndependentSubset& subset);

  // Requires what Create() does.
  IndependentSubsetDistribution(double inverse_temperature,
                                double uniform_mixture)
      : alpha_(inverse_temperature), mixture_(uniform_mixture) {}

  ActionKind action_kind() const override { return ActionKind::kSubset; }
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
  // log h of the subset in scratch->taken and, where 0 < ε < 1, the log-odds
  // that the policy part drew it.
  double LogMixed(const ScoredCandidates& candidates,
                  DistributionScratch* scratch, double* log_odds) const;

  double alpha_;
  LogMixture mixture_;
};

}  // namespace sortition
