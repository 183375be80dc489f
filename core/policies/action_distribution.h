#pragma once
// Distributions over actions, given one score per eligible candidate. Positions
// here are positions among the eligible; core/policies/linear_policy.h maps
// them to document indexes.
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "core/data/action.h"
#include "core/policies/distribution_scratch.h"

namespace sortition {

// What is drawn from: m >= 1 finite scores, not yet multiplied by the inverse
// temperature. Views; top_k in [1, m] for rankings; of subsets the size asked
// for, in [0, m], 0: as the policy has it; otherwise ignored.
struct ScoredCandidates {
  std::span<const double> scores;
  std::optional<double> abstain_score;  // Set: abstaining is an action.
  double threshold = 0;                 // kSubset: subtracted from every score.
  uint32_t top_k = 1;
  DistributionScratch* scratch = nullptr;  // Null: allocated by each call.
  // Of games, as in PolicyQuery.
  const std::function<bool()>* stop = nullptr;
  std::optional<uint32_t> game_rounds;
  bool return_game = false;
};

// A prediction game that was played (GameValue in ranking.proto).
struct GameBounds {
  double lower = 0;  // What the policy guarantees, its mixture included.
  double upper = 0;
  double gap = 0;  // By which the game is not solved; at most upper - lower.
  uint32_t rounds = 0;  // Of the double oracle.
};

// Its own, or else the caller's.
inline DistributionScratch& ScratchOf(const ScoredCandidates& candidates,
                                      DistributionScratch* local) {
  return candidates.scratch != nullptr ? *candidates.scratch : *local;
}

struct Draw {
  Action action;
  double log_propensity = 0;
  // kRank: of each rank given those above; they sum to log_propensity, rounded.
  std::vector<double> conditional_log_propensities;
  std::optional<uint32_t> game_rounds;  // Of a game that was stopped.
  // Where asked for or searched; not touched by policies without a game.
  std::optional<GameBounds> game;
};

// Immutable and thread-safe. Scores up to ±1e4 (after the temperature) and m up
// to 1e6 keep log-propensities finite and exact to rounding. Where a
// distribution cannot draw as it computes, all log-propensities are -infinity.
class ActionDistribution {
 public:
  virtual ~ActionDistribution() = default;

  virtual ActionKind action_kind() const = 0;

  // Draws an action; a pure function of (scores, random). `draw` is overwritten
  // and reused.
  virtual void Sample(const ScoredCandidates& candidates,
                      const CounterRandom& random, Draw* draw) const = 0;

  // log p(action); -infinity where it is impossible or ill-formed (positions
  // out of range, repeated, not as many as top_k, a subset not ascending). The
  // same bits as Sample() gave for the action that it drew.
  virtual double LogPropensity(const ScoredCandidates& candidates,
                               std::span<const int32_t> action) const = 0;

  // Of each rank given those above (kRank); of the action itself (kSelect,
  // kSubset). Requires a well-formed, possible action.
  virtual void ConditionalLogPropensities(
      const ScoredCandidates& candidates, std::span<const int32_t> action,
      std::vector<double>* conditionals) const = 0;

  // Whether it can be learned by its log-propensity's gradient.
  virtual bool has_gradient() const { return true; }

  // Returns log p(action) and writes its derivatives by each score (m of them)
  // and, into `abstain_gradient`, by what is beside them: the abstain score (0
  // where abstaining is no action), the threshold of subsets. Requires
  // has_gradient().
  virtual double LogPropensityGradient(const ScoredCandidates& candidates,
                                       std::span<const int32_t> action,
                                       std::span<double> score_gradient,
                                       double* abstain_gradient) const = 0;

  // The most probable action; ties go to the lower position. Of subsets of any
  // size the smallest.
  virtual Action Mode(const ScoredCandidates& candidates) const = 0;

  // Probability of each candidate to be selected (kSelect), to be placed first
  // (kRank) or to be in (kSubset); the probability of abstaining is what is
  // missing to 1, returned.
  virtual double FirstProbabilities(const ScoredCandidates& candidates,
                                    std::span<double> probabilities) const = 0;
};

}  // namespace sortition
