#pragma once
// What Ranking.Aggregate decides: the order of the weighted mean of score
// lists, or one that a ranking policy draws with the means as scores. Serving
// and verification both go through this class, so that the logged propensity is
// the one that is recomputed.
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/aggregation/aggregate.h"
#include "core/base/hash.h"
#include "core/policies/action_distribution.h"
#include "core/policies/linear_policy.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Views. `lists.candidates` is dense: a row for each candidate, a column for
// each source.
struct AggregateQuery {
  PolicyQuery lists;
  std::span<const double> weights;  // By source; empty: all 1.
  ScoreScale scale = ScoreScale::kMinMax;
};

// Of one query; positions are among the eligible.
struct AggregateResult {
  std::vector<uint32_t> eligible_documents;  // document_index by position.
  std::vector<double> scores;                // Source by source.
  ScoreLists lists;                          // Of `scores`, a view.
  Aggregation mean;
};

// Immutable, thread-safe.
class AggregatePolicy {
 public:
  // No kind: the order of the mean, with probability 1. InvalidArgument as
  // MakeActionDistribution(), and where the policy does not rank.
  static absl::StatusOr<AggregatePolicy> Create(
      const model::v1::Policy& policy);

  // Draws in document indexes; log_propensity is -infinity, not to be served,
  // where means are beyond what can be drawn exactly. Pure function of (query,
  // key). Requires at least one eligible; InvalidArgument as
  // ValidateScoreLists(), of the eligible, and where the lists are sparse.
  absl::Status Decide(const AggregateQuery& query, const Hash128& key,
                      AggregateResult* result, Draw* draw) const;

 private:
  AggregatePolicy() = default;

  std::shared_ptr<const ActionDistribution> distribution_;  // Null: no draw.
};

// The policy that draws p(σ) ∝ exp(-θ d(σ)), d the weighted mean of the
// divergences of the lists from σ by f (seed 002, eq. 21 with θ_i = θ w_i / Σ
// w).
enum class AggregateDivergence { kDcg, kAllPairs, kTop };
model::v1::Policy MakeAggregateDraw(AggregateDivergence divergence,
                                    uint32_t cutoff, double concentration);

// f of so many items. InvalidArgument where cutoff is 0 for kTop, or not 0 for
// kAllPairs.
absl::StatusOr<std::unique_ptr<CardinalityFunction>> MakeDivergence(
    AggregateDivergence divergence, uint32_t cutoff, size_t num_items);

}  // namespace sortition
