#pragma once
// The exact interval of a probability.
#include <cstdint>

#include "core/counterfactual/estimators.h"

namespace sortition {

// Returns the interval of p for `successes` of `trials` independent trials with
// success probability p [ClopperPearson34]: the p with which so many, or so
// few, have a probability of at least (1 - confidence) / 2 each. Covers p at
// least as often as it says, for any number of trials. Requires 0 <= successes
// <= trials; of no trials, it is [0, 1].
Interval ClopperPearsonInterval(uint64_t successes, uint64_t trials,
                                double confidence);

}  // namespace sortition
