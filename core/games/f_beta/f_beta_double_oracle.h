#pragma once
// The double oracle for the F-beta game [WangXingAsifZiebart15, alg. 1] with
// exact best responses; unlike the paper's:
// - it first solves the game of prefixes of the potentials' order, whose best
//   responses cost O(n) per action played;
// - responses are sought against a point between the equilibrium of the last
//   restricted game and the best strategy known (in-out separation
//   [BenAmeurNeto07]), and many are added in a round: local optima over sizes;
// - it keeps the simplex tableau, and drops actions that are no longer played;
// - both players' bounds are known in each round, so that it can stop at any
// time:
//   if stopped within a round it returns to the strategies of the one before.
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
  double tolerance = 1e-6;  // Gap hi - lo to reach; within [1e-9, 1].
  int max_rounds = 1000;    // Rounds of the double oracle at most; >= 0.
  // Ends the search once it returns true, as at a time limit. It is called
  // every 10 µs or so, less often in pivots. The predictor of a search that was
  // stopped after `rounds` is, bit for bit, that of a search with as many
  // max_rounds.
  std::function<bool()> stop = nullptr;
  bool with_adversary = true;  // False: leave the adversary's results empty.
};

enum class FBetaTermination {
  kConverged,  // hi - lo <= tolerance.
  kRoundLimit,
  kStopped,  // By the caller's `stop`.
  kStalled,  // No response is better, yet rounding leaves a wider gap.
};

// Below all payoffs of SortedFBetaGame, which are not negative.
inline constexpr double kUnknownBound = -1;

// The best strategies known, with what they guarantee.
struct FBetaIncumbent {
  double lo = 0;  // kUnknownBound: not computed yet.
  double hi = 0;
  SizeMarginals predictor;  // Gets >= lo against anything,
  SizeMarginals adversary;  // gives <= hi to anything.
};

// Reusable: no allocation when warm.
class FBetaDoubleOracle {
 public:
  // The order of calls: Start(); any of the seeding; Run(). `stop` is asked by
  // all of them.
  void Start(const SortedFBetaGame& game, double tolerance, StopSignal* stop);
  FBetaRestrictedGame& restricted() { return restricted_; }
  // Solves the game of prefixes, for an estimate of the value and for seeds.
  // Returns false where the simplex failed.
  bool SolvePrefixGame();
  double prefix_value() const { return prefix_value_; }

  // `best` holds some strategies at the start. Where the search is stopped in
  // the first round, it gets the first equilibrium, and that round counts;
  // unless its own predictor has a bound.
  FBetaTermination Run(int max_rounds, FBetaIncumbent* best);
  // The round whose predictor `best` has; 0: the one at the start.
  int rounds() const { return rounds_; }

 private:
  // The shares with which the incumbents are mixed in.
  struct Shares {
    double rows = 0;
    double columns = 0;
  };

  // Return false where stopped: `best` is then as before.
  bool EvaluatePredictor(double alpha, FBetaIncumbent* best);
  bool EvaluateAdversary(double alpha, FBetaIncumbent* best);
  // Adds the responses found and solves again. Returns the reason if there is
  // no next round.
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
  FBetaResponses columns_;  // Responses to add.
  FBetaResponses rows_;
  SizeMarginals mixture_;
  // The predictor at the end of the round, if it was replaced since.
  std::optional<double> round_lo_;
  SizeMarginals round_predictor_;
  std::vector<int> row_of_size_;
};

}  // namespace sortition
