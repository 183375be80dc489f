#pragma once
// How much each decision counts if some units have many.
#include <cstdint>
#include <span>
#include <vector>

namespace sortition {

// Returns `weights`, weighed down so that those of one unit add up to at most
// √n / 2, and at least one, for n units: as the gate counts them
// (core/counterfactual/evaluation/improvement.h). Without this, a single
// account with most of the decisions would decide what is learned. `units` has
// the unit of each decision. Requires equal sizes.
std::vector<double> UnitWeights(std::span<const uint64_t> units,
                                std::span<const double> weights);

}  // namespace sortition
