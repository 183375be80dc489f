#pragma once
// The F-beta game in which both players play only prefixes of the order of
// potentials. It is (n+1) x (n+1), and a best response costs O(n) per prefix
// played. Its equilibrium is not that of the whole game (even sets of the same
// size need not be nested), but close to it.
#include <span>
#include <vector>

#include "core/games/f_beta/f_beta_restricted_game.h"
#include "core/games/f_beta/f_beta_sorted.h"
#include "core/games/f_beta/stop_signal.h"

namespace sortition {

// Reusable: allocates nothing once it has met as large a game.
class FBetaPrefixGame {
 public:
  // Adds prefixes to `restricted` and solves it, until no other prefix gains
  // more than `tolerance` or `stop` ends the search. Requires that `restricted`
  // holds prefixes of each player and nothing else. Returns false if the
  // simplex method failed.
  bool Solve(const SortedFBetaGame& game, double tolerance, StopSignal* stop,
             FBetaRestrictedGame* restricted);

 private:
  bool AddResponses(const SortedFBetaGame& game, double margin,
                    FBetaRestrictedGame* restricted);
  void SelectOptima(std::span<const double> payoffs, double threshold,
                    std::vector<int>* sizes) const;

  double gap_ = 0;  // hi - lo of the last equilibrium among prefixes.
  std::vector<double> payoffs_;
  std::vector<int> sizes_;
};

}  // namespace sortition
