#pragma once
// Subsets of the candidates, each in on its own, mixed with uniform:
//   h(S) = (1-ε) Π_{i in S} σ(l_i) Π_{i not in S} σ(-l_i) + ε / 2^m,
//   l_i = α (s_i - threshold).
// Of a fixed size k both parts are on the condition that k are in: then the
// threshold does not matter, and uniform is over the sets of that size. Costs
// O(m) for a draw, as for a probability; of size k O(m k), and above 1e7 all
// log-propensities are -infinity.
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/log_mixture.h"
#include "core/policies/action_distribution.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

class IndependentSubsetDistribution : public ActionDistribution {
 public:
  // InvalidArgument where the threshold is not finite or beyond ±1e6, or k is
  // above 1e6. Requires inverse_temperature and uniform_mixture in their
  // ranges.
  static absl::StatusOr<std::unique_ptr<const ActionDistribution>> Create(
      double inverse_temperature, double uniform_mixture,
      const model::v1::IndependentSubset& subset);

  // Requires what Create() does. `size` 0: any, where none is asked for.
  IndependentSubsetDistribution(double inverse_temperature,
                                double uniform_mixture, uint32_t size)
      : alpha_(inverse_temperature), mixture_(uniform_mixture), size_(size) {}

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
  // What is asked for, at most m; 0: any.
  size_t SizeOf(const ScoredCandidates& candidates) const;
  // Whether `action` is ascending and of the right size; if so, its members go
  // into scratch->taken.
  bool IsWellFormed(const ScoredCandidates& candidates,
                    std::span<const int32_t> action,
                    DistributionScratch* scratch) const;

  // log h of the subset in scratch->taken and, where 0 < ε < 1, the log-odds
  // that the policy part drew it.
  double LogMixed(const ScoredCandidates& candidates,
                  DistributionScratch* scratch, double* log_odds) const;
  // Given log p of a subset of this size.
  double LogMixedSized(const ScoredCandidates& candidates, size_t size,
                       double log_p, double* log_odds) const;
  // Of any size: σ(l).
  void PolicyProbabilities(const ScoredCandidates& candidates,
                           std::span<double> probabilities) const;
  // Into scratch->sized_subset; false beyond its limit.
  bool SetLogits(const ScoredCandidates& candidates, size_t size,
                 DistributionScratch* scratch) const;

  double alpha_;
  LogMixture mixture_;
  uint32_t size_;
};

}  // namespace sortition
