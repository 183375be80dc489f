#pragma once
// Rankings by a law p of orders, mixed with Plackett-Luce and then with
// uniform:
//   h(σ) = (1-ε) ((1-η) p(σ) + η PL(σ)) + ε (m-k)! / m!.
// Derived classes are the laws. Where one of the parts cannot be drawn exactly,
// every order is impossible: log h is -infinity.
#include <vector>

#include "core/base/log_mixture.h"
#include "core/policies/distributions/action_distribution.h"
#include "core/policies/distributions/ranking_distribution.h"

namespace sortition {

class MixedRankingDistribution : public ActionDistribution {
 public:
  ActionKind action_kind() const final { return ActionKind::kRank; }
  void Sample(const ScoredCandidates& candidates, const CounterRandom& random,
              Draw* draw) const final;
  double LogPropensity(const ScoredCandidates& candidates,
                       std::span<const int32_t> action) const final;
  void ConditionalLogPropensities(
      const ScoredCandidates& candidates, std::span<const int32_t> action,
      std::vector<double>* conditionals) const final;
  // Returns the order of the scores, which every law must make most probable,
  // as Plackett-Luce does; but see FactoredRankingDistribution.
  Action Mode(const ScoredCandidates& candidates) const final;
  double FirstProbabilities(const ScoredCandidates& candidates,
                            std::span<double> probabilities) const final;

 protected:
  // Posterior probabilities that an action was drawn by the two parts.
  struct Shares {
    double law = 0;
    double plackett_luce = 0;
  };

  // The logits of Plackett-Luce are α s times the scale; 0 stands for 1.
  MixedRankingDistribution(double inverse_temperature, double uniform_mixture,
                           double plackett_luce_mixture,
                           double plackett_luce_scale);

  double alpha() const { return alpha_; }
  const LogMixture& mixture() const { return mixture_; }
  // Plackett-Luce takes the place of the uniform part.
  const LogMixture& plackett_luce_mixture() const {
    return plackett_luce_mixture_;
  }
  const RankingDistribution& plackett_luce() const { return plackett_luce_; }

  // Prepares the law where it counts. Returns false where no order is possible.
  bool Prepare(const ScoredCandidates& candidates,
               DistributionScratch* scratch) const;
  // The same, unless that has been done for these candidates.
  bool PrepareOnce(const ScoredCandidates& candidates,
                   DistributionScratch* scratch) const;
  // Returns log h of a well-formed action and writes that of each rank given
  // those above. `prepared` is what Prepare() returned. Writes `shares` unless
  // that is null.
  double Propensity(const ScoredCandidates& candidates,
                    std::span<const int32_t> action, bool prepared,
                    DistributionScratch* scratch,
                    std::vector<double>* conditionals,
                    Shares* shares = nullptr) const;

 private:
  // Writes what the other functions need into `scratch`. Returns false where
  // the law cannot be drawn exactly.
  virtual bool PrepareLaw(const ScoredCandidates& candidates,
                          DistributionScratch* scratch) const = 0;
  virtual void DrawFromLaw(const ScoredCandidates& candidates,
                           const CounterRandom& random,
                           DistributionScratch* scratch,
                           Action* action) const = 0;
  // Writes log p of each rank given those above.
  virtual void LawConditionals(std::span<const int32_t> action,
                               DistributionScratch* scratch,
                               std::vector<double>* conditionals) const = 0;
  // Adds to each candidate's entry `share` times the probability that the law
  // puts it first.
  virtual void AddLawFirstProbabilities(
      double share, DistributionScratch* scratch,
      std::span<double> probabilities) const = 0;
  // Fills draw->game where the law is that of a game.
  virtual void DescribeGame(const ScoredCandidates&, const DistributionScratch&,
                            Draw*) const {}

  double alpha_;
  LogMixture mixture_;
  LogMixture plackett_luce_mixture_;
  RankingDistribution plackett_luce_;
  RankingDistribution uniform_;
};

}  // namespace sortition
