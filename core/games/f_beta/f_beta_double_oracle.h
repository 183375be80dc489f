#pragma once
// The double oracle for the F-beta game [WangXingAsifZiebart15, alg. 1] with
// exact best responses. It differs from the paper's:
// - It first solves the game of prefixes of the potentials' order, whose best
//   responses cost O(n) per action played.
// - It looks for responses to a point between the equilibrium of the last
//   restricted game and the best known strategy (in-out separation
//   [BenAmeurNeto07]), and adds many in a round: local optima over sizes.
// - It keeps the simplex tableau, and drops actions that are no longer played.
// - It knows both players' bounds in each round, so it can stop at any time. If
//   it is stopped within a round, it returns to the strategies of the round
//   before.
#include <functional>
#include <optional>

#include "core/games/f_beta/f_beta_best_response.h"
#include "core/games/f_beta/f_beta_prefix_game.h"
#include "core/games/f_beta/f_beta_restricted_game.h"
#include "core/games/f_beta/f_beta_sorted.h"
#include "core/games/f_beta/stop_signal.h"

namespace sortition {

struct FBetaOptions {
  double beta = 1;          // Within [1e-3, 1e3].
  double tolerance = 1e-6;  // Gap hi - lo to reach, within [1e-9, 1].
  int max_rounds = 1000;    // Limit for the rounds of the double oracle, >= 0.
  // Ends the search once it returns true, for example at a time limit. It is
  // called every 10 µs or so, less often in pivots. A search that was stopped
  // after `rounds` has, bit for bit, the predictor of a search with as many
  // max_rounds.
  std::function<bool()> stop = nullptr;
  bool with_adversary = true;  // False: leave the adversary's results empty.
};

enum class FBetaTermination {
  kConverged,  // hi - lo <= tolerance.
  kRoundLimit,
  kStopped,  // By the caller's `stop`.
  kStalled,  // No response is better, but rounding errors leave a wider gap.
};

// Less than every payoff of SortedFBetaGame; those are not negative.
inline constexpr double kUnknownBound = -1;

// The best known strategies, with what they guarantee.
struct FBetaIncumbent {
  double lo = 0;  // kUnknownBound: not computed yet.
  double hi = 0;
  SizeMarginals predictor;  // Gets >= lo against anything,
  SizeMarginals adversary;  // gives <= hi to anything.
};

// Reusable: allocates nothing once it has met as large a game.
class FBetaDoubleOracle {
 public:
  // Call Start(), then any of the functions that seed, then Run(). All of them
  // ask `stop`.
  void Start(const SortedFBetaGame& game, double tolerance, StopSignal* stop);
  FBetaRestrictedGame& restricted() { return restricted_; }
  // Solves the game of prefixes to get an estimate of the value and seeds.
  // Returns false if the simplex method failed.
  bool SolvePrefixGame();
  double prefix_value() const { return prefix_value_; }

  // `best` must hold some strategies at the start. If the search is stopped in
  // the first round and the predictor of `best` has no bound yet, `best` gets
  // the first equilibrium, and that round counts.
  FBetaTermination Run(int max_rounds, FBetaIncumbent* best);
  // The round that the predictor of `best` is from; 0: it is the one from the
  // start.
  int rounds() const { return rounds_; }

 private:
  // The shares of the incumbents when they are mixed in.
  struct Shares {
    double rows = 0;
    double columns = 0;
  };

  // Return false if stopped; `best` is then unchanged.
  bool EvaluatePredictor(double alpha, FBetaIncumbent* best);
  bool EvaluateAdversary(double alpha, FBetaIncumbent* best);
  // Adds the responses found and solves again. If there is no next round,
  // returns the reason.
  std::optional<FBetaTermination> Extend(Shares* shares, FBetaIncumbent* best);
  void ReturnToRound(FBetaIncumbent* best);
  bool AddColumns();
  bool AddRows();

  const SortedFBetaGame* game_ = nullptr;
  StopSignal* stop_ = nullptr;
  double tolerance_ = 0;
  double prefix_value_ = 0;
  int rounds_ = 0;
  FBetaPrefixGame prefix_game_;
  FBetaRestrictedGame restricted_;
  FBetaBestResponse best_response_;
  FBetaResponses columns_;  // Responses to be added.
  FBetaResponses rows_;
  SizeMarginals mixture_;
  // The predictor from the end of the round, if it has been replaced since.
  std::optional<double> round_lo_;
  SizeMarginals round_predictor_;
  std::vector<int> row_of_size_;
};

}  // namespace sortition
