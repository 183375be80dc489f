#pragma once
// What a model must do right before it may serve, besides being well-formed.
#include <cstddef>
#include <map>

#include "absl/status/status.h"
#include "core/data/action.h"
#include "core/policies/linear_policy.h"

namespace sortition {

// On small made-up queries, with and without a mask: the probabilities of all
// actions sum to 1 within 1e-9; 2,000 draws agree with them (chi-square, false
// alarm below 1e-9); Decide() and LogPropensity() give the same bits for every
// draw. Internal says what differs. Deterministic.
absl::Status SelfTest(const LinearPolicy& policy);

namespace internal {

// Smallest statistic that draws from the right distribution exceed with less
// than 1e-9 probability (Wilson–Hilferty; on the safe side for few degrees).
double ChiSquareLimit(size_t degrees_of_freedom);

// Internal where Σ (observed - expected)² / expected is beyond that limit. Over
// cells that expect at least 5 draws; smaller ones are counted together.
absl::Status CheckCounts(const std::map<Action, double>& expected,
                         const std::map<Action, int>& observed);

}  // namespace internal
}  // namespace sortition
