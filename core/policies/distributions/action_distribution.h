#pragma once
// Distributions over actions, given one score per eligible candidate. Positions
// here are positions among the eligible; core/policies/linear_policy.h maps
// them to document indexes.
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/check.h"
#include "core/base/random.h"
#include "core/data/action.h"
#include "core/policies/distributions/distribution_scratch.h"

namespace sortition {

// How to play the game of a policy that plays one; others ignore it.
struct GameControls {
  // An F-score game is solved in rounds. Where set, `stop` is called every 10
  // µs or so; once it returns true the best strategy known is played, and
  // Draw.game_rounds says how many rounds it took.
  const std::function<bool()>* stop = nullptr;
  // Set: plays the strategy of a game that was stopped after so many rounds.
  std::optional<uint32_t> rounds = std::nullopt;
  bool return_bounds = false;  // Whether to fill Draw.game.
  // The scratch is as the last call for these candidates left it: what that
  // found need not be searched for again.
  bool is_decided = false;
};

// The candidates to draw from: m >= 1 finite scores, not yet multiplied by the
// inverse temperature. Views.
struct ScoredCandidates {
  std::span<const double> scores;
  std::optional<double> abstain_score;  // Set: abstaining is an action.
  double threshold = 0;                 // kSubset: subtracted from every score.
  // kRank: ranks to fill, in [1, m]. kSubset: the size asked for, in [0, m]; 0:
  // the policy decides. Otherwise ignored.
  uint32_t top_k = 1;
  DistributionScratch* scratch = nullptr;  // Null: allocated by each call.
  GameControls game = {};
};

// Bounds on the value of a prediction game that was played (GameValue in
// ranking.proto).
struct GameBounds {
  double lower = 0;  // What the policy guarantees, its mixture included.
  double upper = 0;
  double gap = 0;       // What the solver left open; at most upper - lower.
  uint32_t rounds = 0;  // Rounds of the double oracle.
};

// Returns the scratch that comes with the candidates, or else a new one in
// `local`: to make one takes longer than a small selection.
inline DistributionScratch& ScratchOf(
    const ScoredCandidates& candidates,
    std::optional<DistributionScratch>* local) {
  return candidates.scratch != nullptr ? *candidates.scratch : local->emplace();
}

struct Draw {
  Action action;
  double log_propensity = 0;
  // kRank: log-propensity of each rank given those above; they add up to
  // log_propensity, but for rounding.
  std::vector<double> conditional_log_propensities;
  // Set where a game was stopped: the rounds that it had.
  std::optional<uint32_t> game_rounds;
  // Set where it was asked for, or the game had to be searched; policies
  // without a game leave it as it is.
  std::optional<GameBounds> game;
};

// Immutable and thread-safe. Scores up to ±1e4 (after the temperature) and m up
// to 1e6 keep log-propensities finite and exact to rounding. Where a
// distribution cannot draw exactly what it logs, all log-propensities are
// -infinity.
class ActionDistribution {
 public:
  virtual ~ActionDistribution() = default;

  virtual ActionKind action_kind() const = 0;

  // Draws an action; a pure function of (scores, random). `draw` is overwritten
  // and reused.
  virtual void Sample(const ScoredCandidates& candidates,
                      const CounterRandom& random, Draw* draw) const = 0;

  // Returns log p(action); -infinity where the action is impossible or
  // malformed (positions out of range or repeated, not top_k of them, a subset
  // that does not ascend). The same bits as Sample() gave for the action that
  // it drew.
  virtual double LogPropensity(const ScoredCandidates& candidates,
                               std::span<const int32_t> action) const = 0;

  // Writes the log-propensity of each rank given those above (kRank), or of the
  // action itself (kSelect, kSubset). Requires a well-formed, possible action.
  virtual void ConditionalLogPropensities(
      const ScoredCandidates& candidates, std::span<const int32_t> action,
      std::vector<double>* conditionals) const {
    conditionals->assign(1, LogPropensity(candidates, action));
  }

  // Whether LogPropensityGradient() is there and may be called.
  virtual bool has_gradient() const { return false; }

  // Returns log p(action) and writes its m derivatives by the scores and, into
  // `abstain_gradient`, the derivative by the abstain score (0 where abstaining
  // is no action) or by the threshold of subsets. Requires has_gradient().
  virtual double LogPropensityGradient(const ScoredCandidates& /*candidates*/,
                                       std::span<const int32_t> /*action*/,
                                       std::span<double> /*score_gradient*/,
                                       double* /*abstain_gradient*/) const {
    CHECK(has_gradient());
    return -HUGE_VAL;
  }

  // Returns the most probable action. Ties go to the lower position, and to the
  // smaller subset.
  virtual Action Mode(const ScoredCandidates& candidates) const = 0;

  // Writes the probability of each candidate to be selected (kSelect), to come
  // first (kRank) or to be in the subset (kSubset). Returns the probability of
  // abstaining.
  virtual double FirstProbabilities(const ScoredCandidates& candidates,
                                    std::span<double> probabilities) const = 0;

 protected:
  // The random numbers of a draw: number 0 chooses the part of the mixture; the
  // blocks from the first on, which are numbers 2 and up, draw from that part.
  static constexpr uint32_t kPart = 0;
  static constexpr uint32_t kFirstBlock = 1;
};

}  // namespace sortition
