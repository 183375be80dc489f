#pragma once
// Which estimator answers unless somebody asks for another.
#include <cstddef>

#include "core/counterfactual/evaluation/policy_sums.h"

namespace sortition {

// Returns the estimator of least estimated mean squared error among these:
//  - kSelfNormalised, and with a model kSelfNormalisedDr: next to no bias, so
//    that the error is the standard error. Weights that do not sum up to the
//    number of decisions cannot take them out of the range of rewards, which
//    makes them better than kIps and kDoublyRobust where few weights decide.
//  - with a model kClippedDr for each M. Its bias is that of the model on what
//    is cut, a share of 1 - E[min(ρ, M)] of the target's probability. That
//    cannot be estimated well, since just those decisions are rare. It is taken
//    for three times that share of the model's bias on the whole, the
//    difference of kDirect and kSelfNormalisedDr. So clipping must promise a
//    lot, with a model that is right on average.
// Without a model this is kSelfNormalised.
Estimator ChooseEstimator(const PolicySums& sums, size_t policy,
                          bool has_model);

}  // namespace sortition
