#pragma once
// Tests that a policy is right before it serves: draws and probabilities agree.
#include <cstddef>
#include <map>

#include "absl/status/status.h"
#include "core/data/action.h"
#include "core/policies/linear_policy.h"

namespace sortition {

// Checks on small made-up queries, with and without a mask, that the
// probabilities of all actions sum to 1 within 1e-9, that 2,000 draws agree
// with them (chi-square, probability of a false alarm below 1e-9), and that
// Decide() and LogPropensity() give the same bits for every draw. Internal says
// what differs. Deterministic.
absl::Status SelfTest(const LinearPolicy& policy);

namespace internal {

// Returns the smallest statistic that draws from the right distribution exceed
// with a probability below 1e-9 (Wilson–Hilferty; too large for few degrees,
// which is the safe side).
double ChiSquareLimit(size_t degrees_of_freedom);

// Compares Σ (observed - expected)² / expected with ChiSquareLimit(), Internal
// if it is larger. Actions of which fewer than 5 draws are expected are counted
// together.
absl::Status CheckCounts(const std::map<Action, double>& expected,
                         const std::map<Action, int>& observed);

}  // namespace internal
}  // namespace sortition
