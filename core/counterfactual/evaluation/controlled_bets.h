#pragma once
// Bets with a control variate, where weights have a known limit.
#include <vector>

#include "core/counterfactual/evaluation/betting.h"

namespace sortition {

// Sums of one group of decisions: of rewards r in [0, 1], of something b, and
// of a d of known mean 0 that is at most L = `limit` >= 1 in absolute value.
struct ControlledRound {
  double base = 0;        // Σ b, b in [0, most_base].
  double product = 0;     // Σ d r
  double difference = 0;  // Σ d
  double count = 0;
};

// Rounds of BettingLowerBound with `least` = L: sums of z = b + d (r - c), and
// of most_base - z.
struct ControlledSides {
  std::vector<BettingRound> above;
  std::vector<BettingRound> below;
};

// Whatever the control factor c in [0, 1], the mean of z is E[b] + E[d r]. c is
// that of least variance in the rounds before, so that the game stays fair. z
// is in [-L, most_base + L].
//
// With d = ρ - 1 and b = r this is the value of a policy, with b = 0 its gain
// over the log, and with d = ρ_A - ρ_B and b = 0 that of A over B. E[d] = 0
// needs a log that can choose whatever the policies can; L follows from its
// smallest propensity. Bounds are some 1.4 times as far away as those of the
// normal distribution with control variate, unless L is too large: L decisions
// may be lost in each, so that bets must be small.
ControlledSides ControlledBets(const std::vector<ControlledRound>& rounds,
                               double limit, double most_base);

}  // namespace sortition
