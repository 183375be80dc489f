#pragma once
// Plackett–Luce rankings [Plackett75, Luce59], top-k, mixed with uniform:
//   p(σ) = Π_r exp(α s(σ_r)) / Σ_{j not in σ_0..σ_{r-1}} exp(α s(j)),
//   h(σ) = (1-ε) p(σ) + ε (m-k)! / m!.
// Drawn by Gumbel top-k: the k largest α s(j) - log(-log u_j). A draw costs O(m
// + k log k) and a probability O(m + k), without cancellation: the normaliser
// of rank r is built from the tail up, never by subtraction.
//
// Logits α s beyond ±1e9 (kMaxRankingLogit) make every order impossible: log h
// is -infinity, also of the order that is drawn, so that nobody serves it or
// learns from it. Rounding would change the sum of such a logit and the noise,
// which is of size 1, by more than 1e-7 (at 1e17 no noise is left), and orders
// would not be drawn as often as is logged. Selections have no such limit: they
// are drawn from the probabilities that are logged.
#include <vector>

#include "core/base/log_mixture.h"
#include "core/policies/distributions/action_distribution.h"

namespace sortition {

inline constexpr double kMaxRankingLogit = 1e9;

// Whether the logits alpha · scores are within ±kMaxRankingLogit.
bool AreWithinLimit(std::span<const double> scores, double alpha);

// Marks the positions of an action in `taken`. Returns false where the action
// is not a ranking of top_k of the candidates.
bool MarkTaken(const ScoredCandidates& candidates,
               std::span<const int32_t> action, std::vector<uint8_t>* taken);

// Writes the top_k positions of largest key by falling key; ties go to the
// lower position. Requires at least top_k keys.
void SortTop(std::span<const double> keys, uint32_t top_k,
             std::vector<int32_t>* order);

// Draws the first top_k ranks of a Plackett-Luce order with the logits alpha ·
// scores, candidate i by numbers[i] in (0, 1). Overwrites the numbers.
void DrawPlackettLuce(std::span<const double> scores, double alpha,
                      uint32_t top_k, std::span<double> numbers,
                      std::vector<int32_t>* order);

class RankingDistribution : public ActionDistribution {
 public:
  RankingDistribution(double inverse_temperature, double uniform_mixture)
      : alpha_(inverse_temperature), mixture_(uniform_mixture) {}

  ActionKind action_kind() const override { return ActionKind::kRank; }
  void Sample(const ScoredCandidates& candidates, const CounterRandom& random,
              Draw* draw) const override;
  double LogPropensity(const ScoredCandidates& candidates,
                       std::span<const int32_t> action) const override;
  void ConditionalLogPropensities(
      const ScoredCandidates& candidates, std::span<const int32_t> action,
      std::vector<double>* conditionals) const override;
  bool has_gradient() const override { return true; }
  double LogPropensityGradient(const ScoredCandidates& candidates,
                               std::span<const int32_t> action,
                               std::span<double> score_gradient,
                               double* abstain_gradient) const override;
  Action Mode(const ScoredCandidates& candidates) const override;
  double FirstProbabilities(const ScoredCandidates& candidates,
                            std::span<double> probabilities) const override;

  // Whether the logits are within ±kMaxRankingLogit, or not used at all.
  bool CanDraw(const ScoredCandidates& candidates) const;

 private:
  // Returns log h of a well-formed action that is marked in scratch->taken, and
  // writes that of each rank given those above; -infinity unless CanDraw().
  double Propensity(const ScoredCandidates& candidates,
                    std::span<const int32_t> action,
                    DistributionScratch* scratch,
                    std::vector<double>* conditionals) const;

  double alpha_;
  LogMixture mixture_;
};

}  // namespace sortition
