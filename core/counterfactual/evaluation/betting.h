#pragma once
// Confidence bounds by betting: a gambler bets against each value m that a mean
// could have, in a game that is fair if it has it. Who grows rich has refuted m
// [WaudbySmithRamdas24, WaudbySmithEtAl22]. The bounds
// hold for every sample size; those of the normal distribution only for large
// ones.
#include <span>

namespace sortition {

// Sums of one group of decisions: rewards (or differences of them) and how many
// decisions there were.
struct BettingRound {
  double sum = 0;    // At least -least · count.
  double count = 0;  // At least 0.
};

// Returns a lower bound of M = E[sum] / E[count] that fails with at most
// `failure_probability` α, from rounds that are independent and identically
// distributed, in any order that does not depend on them. Sums need no upper
// bound: importance weights may be as large as they like. Each decision's mean
// is at least -`least` (0 for rewards, 1 for differences of rewards in [0, 1]).
//
// The wealth against m after all rounds is W(m) = Π (1 + λ_g (sum_g - m
// count_g)), with E[W(M)] <= 1, so that P(W(M) >= 1/α) <= α (Markov); W falls
// with m, and the bound is where it passes 1/α. The bets λ_g are the
// predictable plug-in √(2 ln(1/α) / (G σ̂²_{g-1})), at most half of what could
// lose everything: 1 / (2 (m + least) max count).
//
// Sizes of rounds count as known beforehand. So the bound is about rounds no
// larger than the largest of these: if rounds that are larger, too rare to be
// among these, have other means, nothing is claimed about them. It holds
// without this if all sizes are equal, or known to be at most the largest of
// these. Returns -`least` if nothing better is known.
double BettingLowerBound(std::span<const BettingRound> rounds, double least,
                         double failure_probability);

// A game on the mean of BettingLowerBound, in one of several ways to win.
struct BettingGame {
  std::span<const BettingRound> rounds;
  double least = 0;
};

// The same with wealth that is split equally between several games about one
// mean M. Whichever wins most, the bound is nearly as good as with that one
// alone: it starts with one of the games' shares, ln(games) less. Requires at
// least one game.
double BettingLowerBound(std::span<const BettingGame> games,
                         double failure_probability);

// Returns ln W(m), for m > -least.
double LogWealth(std::span<const BettingRound> rounds, double least,
                 double failure_probability, double m);

}  // namespace sortition
