#pragma once
// Solves the game of one query at parameters θ: its value and the adversary's
// strategy.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/data/labelled_items.h"
#include "core/games/f_beta/f_beta_game.h"
#include "core/games/ranking/discounts.h"
#include "core/games/ranking/graded_game.h"
#include "core/games/ranking/precision_game.h"
#include "core/games/ranking/ranking_game.h"
#include "core/learners/games/game_task.h"

namespace sortition {

// Sums over queries. ψ·y is Σ_i ψ_i y_i over the labels, and V is the game's
// value. G(Q) is the largest score that any action has against the adversary's
// mixture Q with marginals q, so that V = min_Q G(Q) - ψ·q.
struct GameSums {
  // Σ ψ·y + V, with V as the predictor guarantees it (lower) and as the
  // adversary does (upper). They differ only for F_BETA, and with smoothing,
  // where upper has V_μ.
  double lower = 0;
  double upper = 0;
  double score = 0;             // Σ G(Q), without smoothing terms.
  std::vector<double> moments;  // Σ_i (q_i - y_i) x_i, as θ: -∇(Σ ψ·y + V).
};

// How exactly games of F_BETA are solved: to a gap, or for a number of rounds
// of the double oracle, whichever comes first.
struct FBetaEffort {
  double tolerance = 1e-6;
  uint32_t max_rounds = 1000;
};

// How one query is played.
struct QueryRules {
  const Discounts& discounts;            // Not for F_BETA, PRECISION.
  FBetaWarmStart* warm_start = nullptr;  // For F_BETA; may be null.
  FBetaEffort effort;                    // For F_BETA.
  // 0: the exact game. Otherwise the adversary of smoothed_adversary.h, for
  // measures that have one (CanSmooth()).
  double mu = 0;
};

// Workspace: one per thread. Reusable.
class QueryGame {
 public:
  // `task` must outlive it.
  explicit QueryGame(const GameTask& task);

  // Adds the query's terms. Requires theta of the size in the task, and moments
  // of theta's size. InvalidArgument if a potential is outside the solvers'
  // range.
  absl::Status Add(const LabelledItems& query, std::span<const double> theta,
                   const QueryRules& rules, GameSums* sums);

  // Returns the measure that the predictor's equilibrium strategy expects on
  // the query's labels. Without smoothing.
  absl::StatusOr<double> ExpectedScore(const LabelledItems& query,
                                       std::span<const double> theta,
                                       const QueryRules& rules);

 private:
  void Prepare(const LabelledItems& query, std::span<const double> theta);
  PositivesBound Positives() const;
  // Each solves the game, fills residuals_, and adds all terms except the
  // moments.
  absl::Status AddRanking(const QueryRules& rules, GameSums* sums);
  absl::Status AddFBeta(const QueryRules& rules, GameSums* sums);
  absl::Status AddGraded(const LabelledItems& query, const QueryRules& rules,
                         GameSums* sums);
  absl::Status SolveRanking(const QueryRules& rules);
  void AddMoments(const LabelledItems& query, std::span<double> moments) const;
  double ExpectedFBeta() const;

  const GameTask& task_;
  std::vector<uint32_t> item_indexes_;  // 0, 1, ..
  std::vector<double> labels_;          // y: the gain of each item's label.
  std::vector<double> scores_;          // θ_l·x, block by block.
  std::vector<double> psi_;             // n; PER_LEVEL: n × K.
  std::vector<double> residuals_;       // q - y, block by block.
  RankingGame ranking_;
  PrecisionGame precision_;
  RankingEquilibrium ranked_;
  GradedGame graded_game_;
  GradedEquilibrium graded_;
  FBetaSolver f_beta_;
  FBetaEquilibrium sets_;
};

bool CanSmooth(const GameTask& task);

}  // namespace sortition
