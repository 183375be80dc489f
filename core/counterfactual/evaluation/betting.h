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

// A game on the mean M = E[sum] / E[count].
struct BettingGame {
  std::span<const BettingRound> rounds;
  // Each decision's mean is at least -least: 0 for rewards, 1 for differences
  // of rewards in [0, 1].
  double least = 0;
  // No round that there could have been counts more. Positive, and known before
  // these rounds are looked at: it may depend on how many units there are and
  // on other data, not on the largest of these rounds. Sizes of which is known
  // that they have nothing to do with the sums, such as how many units of one
  // decision share a group, may be looked at.
  double largest_count = 1;
};

// Returns a lower bound of M that fails with at most `failure_probability` α,
// from rounds that are independent and identically distributed, in any order
// that does not depend on them. Sums need no upper bound: importance weights
// may be as large as they like.
//
// The wealth against m after all rounds is W(m) = Π (1 + λ_g (sum_g - m
// count_g)). A round's λ_g is chosen by the rounds before it, and
// E[sum - M count] = 0, so that each factor is 1 on average at m = M. If it can
// never be negative, then W(M) is a nonnegative martingale, E[W(M)] = 1, and
// P(W(M) >= 1/α) <= α (Markov). As sum >= -least · count, it is never less than
// 1 - λ_g (m + least) count. So λ_g must be at most 1 / ((m + least) N) for an
// N that no round can exceed, also none that happens not to be among these:
// with the largest of these instead, a sample that lacks the rare large rounds
// bets as if there were none. Where these lose what the small ones gain, the
// bound is then above M about as often as they are missing.
//
// W falls with m, and the bound is where it passes 1/α. The bets are the
// plug-in √(2 ln(1/α) / (G σ̂²_{g-1})), at most half of what could lose
// everything: 1 / (2 (m + least) N). Returns -`least` if nothing better is
// known.
double BettingLowerBound(const BettingGame& game, double failure_probability);

// The same with wealth that is split equally between several games about one
// mean M. Whichever wins most, the bound is nearly as good as with that one
// alone: it starts with one of the games' shares, ln(games) less. Requires at
// least one game.
double BettingLowerBound(std::span<const BettingGame> games,
                         double failure_probability);

// Returns ln W(m), for m > -least.
double LogWealth(const BettingGame& game, double failure_probability, double m);

}  // namespace sortition
