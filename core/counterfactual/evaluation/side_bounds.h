#pragma once
// Lower bounds of the mean of a term per decision whose smallest value is
// known: one side of an interval.
#include <cstddef>

#include "core/counterfactual/evaluation/group_sums.h"

namespace sortition {

// Returns a + factor · b.
SumFunction Plus(SumFunction a, const SumFunction& b, double factor);

struct Side {
  Ratio mean;
  // The smallest value that the term of one decision can have.
  double least_term = 0;
};

// Fewer groups than this have no bound by likelihood.
inline constexpr size_t kMinLikelihoodGroups = 3;

// Returns whether the mean of a side is nearly normal (group_blocks.h) and no
// term that is possible, seen or not, is smaller than the mean by more than
// half the standard error of the sum. Three such terms that should have been
// seen and were not, which happens once in twenty logs, move the mean by 1.5
// standard errors.
bool IsNearlyNormal(const GroupSums& sums, const Side& side);

// Returns the lower bound of a side by empirical likelihood, at least `least`:
// at the level t² / 2 of Student's t that fails with `failure_probability`. For
// sides that are nearly normal. Requires kMinLikelihoodGroups groups.
double LikelihoodBound(const GroupSums& sums, const Side& side, double least,
                       double failure_probability);

// Returns the same for sides that are not: t fails with half the probability,
// and where the terms that decide the bound were hardly ever seen, the level is
// ln(1 / failure_probability) (CautiousLowerBound()).
double BoundedLikelihoodBound(const GroupSums& sums, const Side& side,
                              double least, double failure_probability);

}  // namespace sortition
