#pragma once
// Rank marginals of any ranking distribution, by drawing orders. The marginals
// of rank 0 are exact (FirstProbabilities()). For the other ranks each draw
// gives, instead of the candidate that it has there, the probabilities of all
// candidates given those above (Rao-Blackwell): the same mean with less
// variance. Plackett-Luce has exact marginals (plackett_luce_marginals.h).
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/hash.h"
#include "core/policies/distributions/action_distribution.h"

namespace sortition {

struct MarginalSampling {
  uint32_t num_draws = 1000;  // At least 2.
  Hash128 key = {};           // Draw t uses stream t of it.
  // Whether to average conditional probabilities. It asks the distribution for
  // n probabilities per draw and rank. Where these do not add up to 1, which a
  // law whose first ranks depend on top_k may cause, the candidate drawn counts
  // instead.
  bool use_conditionals = true;
};

// m[d][k] = P(candidate d is at rank k) at [k * n + d], and its standard error.
struct SampledMarginals {
  std::vector<double> marginals;
  std::vector<double> standard_errors;
};

// Estimates the marginals of ranks below candidates.top_k. InvalidArgument if
// there are fewer than 2 draws; FailedPrecondition if the distribution cannot
// draw for these scores. Requires a kRank distribution.
absl::StatusOr<SampledMarginals> SampleMarginals(
    const ActionDistribution& distribution, const ScoredCandidates& candidates,
    const MarginalSampling& sampling);

}  // namespace sortition
