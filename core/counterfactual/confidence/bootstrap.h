#pragma once
// Intervals from blocks drawn with replacement.
#include <cstdint>
#include <optional>

#include "core/counterfactual/confidence/ratio_blocks.h"
#include "core/counterfactual/estimators.h"

namespace sortition {

// Returns the percentile-t interval of V [Hall88]: for V* and its standard
// error SE* of as many blocks drawn with replacement, with quantiles t* of
// (V* - V) / SE*,
//   [V - t*(1 - γ/2) SE, V - t*(γ/2) SE],  γ = 1 - confidence.
// Unlike quantiles of V* alone, these allow for skewness and for few blocks. A
// draw without spread counts as infinitely far, so that bounds may be infinite.
// Draws depend on `seed` alone. O(draws · blocks · ratios), with 999 draws, or
// more for a confidence above 0.98. nullopt if SE is not known, or the
// confidence is above 0.999, which would need too many.
std::optional<Interval> BootstrapInterval(const RatioBlocks& blocks,
                                          double confidence, uint64_t seed);

}  // namespace sortition
