#pragma once
// Subsets drawn by the equilibrium strategy of the predictor in a prediction
// game of sets [WangXingAsifZiebart15, sec. 3.3], mixed with uniform. The
// potentials are ψ = α (s - threshold).
//
// PRECISION: k candidates. The predictor's strategies are the policies (1-ε) p
// + ε uniform. Candidate i is in with probability (1-ε) p_i + ε k/m, and the
// possible p are those with p/k in the hull Perm(D), D = 1/k at the first k
// ranks (core/games/ranking/precision_game.h). So, as in
// game_ranking_distribution.h, p is the game of ψ / (1-ε). Costs O(m log m).
//
// F_BETA: any number of candidates. p is the game of ψ
// (core/games/f_beta/f_beta_game.h), and in the uniform part each candidate is
// in with probability ½; the game is not solved for the mixture. Its search
// ends at the tolerance, after max_rounds, or where it is stopped. The strategy
// that is played then depends on the number of rounds only.
//
// Sets are drawn by the coins of core/games/sampling/slot_sampler.h: without ε
// most sets are impossible, log h = -infinity.
#include <vector>

#include "core/base/log_mixture.h"
#include "core/games/f_beta/f_beta_double_oracle.h"
#include "core/policies/distributions/action_distribution.h"
#include "core/policies/distributions/independent_subset_distribution.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Returns how the F-score game of a policy is solved, defaults filled in.
FBetaOptions FBetaOptionsOf(const model::v1::GameSubset& game);

class GameSubsetDistribution : public ActionDistribution {
 public:
  // Requires what ValidatePolicy() does.
  GameSubsetDistribution(double inverse_temperature, double uniform_mixture,
                         const model::v1::GameSubset& game);

  ActionKind action_kind() const override { return ActionKind::kSubset; }
  void Sample(const ScoredCandidates& candidates, const CounterRandom& random,
              Draw* draw) const override;
  double LogPropensity(const ScoredCandidates& candidates,
                       std::span<const int32_t> action) const override;
  // PRECISION: returns the candidates of largest score. F_BETA: for each size
  // takes the most probable candidates, and returns the most probable of these
  // sets.
  Action Mode(const ScoredCandidates& candidates) const override;
  double FirstProbabilities(const ScoredCandidates& candidates,
                            std::span<double> probabilities) const override;

 private:
  bool precision() const { return k_ > 0; }
  // Returns the candidates with top_k set to the size to draw; 0: any size.
  ScoredCandidates OfSize(const ScoredCandidates& candidates) const;

  // Solve the game and build its sampler; false where that is impossible.
  // Require candidates from OfSize().
  bool Prepare(const ScoredCandidates& candidates,
               DistributionScratch* scratch) const;
  // The same, unless that has been done for these candidates.
  bool PrepareOnce(const ScoredCandidates& candidates,
                   DistributionScratch* scratch) const;
  bool PreparePrecision(const ScoredCandidates& candidates,
                        DistributionScratch* scratch) const;
  bool PrepareFBeta(const ScoredCandidates& candidates,
                    DistributionScratch* scratch) const;
  // Returns log h of a subset. `prepared` is what Prepare() returned.
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
  uint32_t k_;  // 0: the measure is F_BETA.
  double block_mixing_;
  FBetaOptions f_beta_options_;
  IndependentSubsetDistribution uniform_;
  // Has the same mode for subsets of size k.
  IndependentSubsetDistribution independent_;
};

}  // namespace sortition
