#pragma once
// The grid on which sums of probabilities are exact.

namespace sortition {

// Rounds p in [0, 1] to a multiple of 2^-52, the last place of a sum in [1, 2].
inline double OnGrid(double p) { return (1 + p) - 1; }

}  // namespace sortition
