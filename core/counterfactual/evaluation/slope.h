#pragma once
// Which clip, smoothing or shrinkage, by Lepski's principle
// [SuSrinathKrishnamurthy20].
#include <cstddef>

#include "core/counterfactual/evaluation/policy_sums.h"

namespace sortition {

// Returns `kind` with a value of its parameter. From least bias (and most
// variance) to most bias, the estimates are compared by intervals of twice the
// half-width that all hold together with `confidence`: as long as all so far
// have a point in common, the bias of the last one cannot be much above its
// half-width, and its variance is the smallest. The last one is chosen. The
// half-widths are Student's by group of units, where the paper has Bernstein's.
//
// A kind without a parameter comes back as it is; with fewer than two groups,
// the parameter is that of least bias.
Estimator ChooseBySlope(const PolicySums& sums, size_t policy,
                        EstimatorKind kind, double confidence);

}  // namespace sortition
