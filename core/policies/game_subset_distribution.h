#pragma once
// Subsets drawn as the predictor of a prediction game of sets draws them
// [WangXingAsifZiebart15, sec. 3.3], mixed with uniform. The potentials are
// ψ = α (s - threshold).
//
// PRECISION: k candidates. The game is that over all policies (1-ε) p + ε
// uniform. By candidate, the probability of being in is (1-ε) p_i + ε k/m, and
// these policies are those whose p/k is in the hull Perm(D), D = 1/k at the
// first k ranks (core/games/ranking/precision_game.h). So, as in
// game_ranking_distribution.h, p is the game of ψ / (1-ε). O(m log m).
//
// F_BETA: any number of candidates. p is the game of ψ
// (core/games/f_beta/f_beta_game.h) and the uniform part has each candidate in
// with probability ½; the game is not solved for the mixture. Its search ends
// at the tolerance, after max_rounds, or where it is stopped; what is played
// then is a function of the rounds it had.
//
// Sets are drawn by the coins of core/games/sampling/slot_sampler.h: without ε
// most are impossible, log h = -infinity.
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/log_mixture.h"
#include "core/policies/action_distribution.h"
#include "core/policies/independent_subset_distribution.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

class GameSubsetDistribution : public ActionDistribution {
 public:
  // InvalidArgument where the measure is unset, PRECISION has a k outside [1,
  // 1e6], or another field is not in its range. Requires inverse_temperature
  // and uniform_mixture in their ranges.
  static absl::StatusOr<std::unique_ptr<const ActionDistribution>> Create(
      double inverse_temperature, double uniform_mixture,
      const model::v1::GameSubset& game);

  ActionKind action_kind() const override { return ActionKind::kSubset; }
  void Sample(const ScoredCandidates& candidates, const CounterRandom& random,
              Draw* draw) const override;
  double LogPropensity(const ScoredCandidates& candidates,
                       std::span<const int32_t> action) const override;
  void ConditionalLogPropensities(
      const ScoredCandidates& candidates, std::span<const int32_t> action,
      std::vector<double>* conditionals) const override;
  bool has_gradient() const override { return false; }
  double LogPropensityGradient(const ScoredCandidates& candidates,
                               std::span<const int32_t> action,
                               std::span<double> score_gradient,
                               double* abstain_gradient) const override;
  // PRECISION: those of largest score. F_BETA: of the sets that have the most
  // probable candidates of their size, the most probable.
  Action Mode(const ScoredCandidates& candidates) const override;
  double FirstProbabilities(const ScoredCandidates& candidates,
                            std::span<double> probabilities) const override;

 private:
  GameSubsetDistribution(double inverse_temperature, double uniform_mixture,
                         const model::v1::GameSubset& game);

  bool precision() const { return k_ > 0; }
  // The candidates, of the size that is to be drawn; 0: any.
  ScoredCandidates OfSize(const ScoredCandidates& candidates) const;

  // Solve the game and make what draws from it; false where that is impossible.
  // Candidates are as OfSize() has them.
  bool Prepare(const ScoredCandidates& candidates,
               DistributionScratch* scratch) const;
  bool PreparePrecision(const ScoredCandidates& candidates,
                        DistributionScratch* scratch) const;
  bool PrepareFBeta(const ScoredCandidates& candidates,
                    DistributionScratch* scratch) const;
  // log h of a subset. Requires what Prepare() returned.
  double Propensity(const ScoredCandidates& candidates,
                    std::span<const int32_t> action, bool prepared,
                    DistributionScratch* scratch) const;
  void DrawFromGame(const ScoredCandidates& candidates,
                    const CounterRandom& random, DistributionScratch* scratch,
                    Action* action) const;
  void DescribeGame(const ScoredCandidates& candidates,
                    const DistributionScratch& scratch, Draw* draw) const;

  double alpha_;
  LogMixture mixture_;
  uint32_t k_;  // PRECISION; 0: F_BETA.
  double block_mixing_;
  double beta_;
  double tolerance_;
  uint32_t max_rounds_;
  // The uniform part; of size k the mode is also that of independent subsets.
  IndependentSubsetDistribution uniform_;
  IndependentSubsetDistribution independent_;
};

}  // namespace sortition
