#pragma once
// kBlendedDr: the estimator that answers unless somebody asks for another.
#include <cstddef>
#include <vector>

#include "core/counterfactual/evaluation/policy_sums.h"

namespace sortition {

// Returns the value of `policy` as ratios of the sums so far, a mean of two
// estimates whose weights follow from their errors. n is the effective sample
// size or the number of groups of units, if that is smaller; f = n / (n + 100).
//
// A has no bias but what falls with the number of decisions: IPS minus those
// multiples of two controls, each 0 on average, that leave least variance:
// ρ - 1 and q_h - ρ q. IPS, controlled IPS and DR are such differences, too.
// Few weights do not tell the multiples, so that is only the share f of A. The
// rest is the mean of SNIPS and SNDR of least variance.
//
// B is kClippedDr with a small M. Its bias is that of the model on what is cut,
// a share c = 1 - E[min(ρ, M)] of the policy's probability. To be estimated it
// takes just the decisions that clipping distrusts. So it counts as unknown, of
// mean 0 and standard deviation τ = (c / f) √((direct - A)² + Var(direct - A)),
// the bias of the model on the whole. What A - B says of it with its variance
// s² leaves (1 - w) B + w A for w = τ² / (τ² + s²), the posterior mean, with
// the risk Var((1 - w) B + w A) + (1 - w)² τ². M is that of least risk; with
// none below the variance of A there is only A.
//
// Where all weights are 0 it is kDirect.
std::vector<Ratio> BlendedRatios(const PolicySums& sums, size_t policy);

}  // namespace sortition
