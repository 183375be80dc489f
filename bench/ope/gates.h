#pragma once
// The gate as it is, and as it was: lower bounds of what a policy earns more
// than the one that logged.
#include <cstdint>
#include <span>
#include <vector>

#include "bench/ope/tabular_world.h"

namespace sortition {

// The columns of a log.
struct GateSample {
  std::vector<double> rewards;
  std::vector<double> log_weights;
  std::vector<uint64_t> units;
};
GateSample SampleOf(std::span<const LoggedDecision> log);

// The confidence that a user asks for; each side of an interval fails with half
// of the rest.
inline constexpr double kGateConfidence = 0.95;

// Bets by unit, with the share that the `look`-th has of the failure
// probability; 0: all of it. Takes the first `size` decisions.
double BettingGate(const GateSample& sample, size_t size, uint64_t look);

// Empirical Bernstein by decision, clipped as ChooseEvaluationClip() says for
// `validation`. Takes the first `size` decisions of both.
double BernsteinGate(const GateSample& validation, const GateSample& sample,
                     size_t size);

// The normal interval by decision, or by unit.
double NormalGate(const GateSample& sample, size_t size, bool by_unit);

}  // namespace sortition
