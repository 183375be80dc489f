#pragma once
// The decision of Ranking.Aggregate: the order of the weighted mean of score
// lists, or an order that a ranking policy draws with the means as scores.
// Serving and verification both use this class, so that verification recomputes
// exactly the propensity that was logged.
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "core/aggregation/aggregate.h"
#include "core/base/hash.h"
#include "core/policies/distributions/action_distribution.h"
#include "core/policies/linear_policy.h"
#include "sortition/model/v1/model.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

// Returns nothing where the message names no scale.
std::optional<ScoreScale> ScaleOf(const v1::Aggregation& aggregation);

// The fields are views. `lists.candidates` is dense: one row for each
// candidate, one column for each source.
struct AggregateQuery {
  PolicyQuery lists;
  std::span<const double> weights;  // One for each source; empty: all 1.
  ScoreScale scale = ScoreScale::kMinMax;
  // Where set, returns whether the time for the decision is over. Called every
  // millisecond or so while lists are read and sorted.
  const std::function<bool()>* is_over = nullptr;
};

// Returns SerialFor() that leaves out all that is to come once time is over.
ParallelFor WhileTimeIsLeft(const std::function<bool()>* is_over);

// The aggregation of one query. Items are numbered by their position among the
// eligible candidates.
struct AggregateResult {
  std::vector<uint32_t> eligible_documents;  // document_index by position.
  std::vector<double> scores;                // Row-major, a row per source.
  ScoreLists lists;                          // A view of `scores`.
  Aggregation mean;
};

// Immutable, thread-safe.
class AggregatePolicy {
 public:
  // A policy whose kind is not set returns the order of the mean with
  // probability 1. InvalidArgument for the reasons of MakeActionDistribution(),
  // and if the policy does not rank.
  static absl::StatusOr<AggregatePolicy> Create(
      const model::v1::Policy& policy);

  // Draws an order of document indexes. If the means are too large to draw from
  // exactly, log_propensity is -infinity and the draw must not be served. A
  // pure function of (query, key). Requires at least one eligible candidate.
  // InvalidArgument if the lists are sparse, or if ValidateScoreLists() rejects
  // the scores of the eligible candidates. DeadlineExceeded if time runs out.
  absl::Status Decide(const AggregateQuery& query, const Hash128& key,
                      AggregateResult* result, Draw* draw) const;

 private:
  AggregatePolicy() = default;

  // Null: the order of the mean.
  std::shared_ptr<const ActionDistribution> distribution_;
};

// Returns the policy that draws p(σ) ∝ exp(-θ d(σ)), where θ is `concentration`
// and d(σ) the weighted mean over the lists of their divergences from σ (seed
// 002, eq. 21 with θ_i = θ w_i / Σ w).
enum class AggregateDivergence { kDcg, kAllPairs, kTop };
model::v1::Policy MakeAggregateDraw(AggregateDivergence divergence,
                                    uint32_t cutoff, double concentration);

// Returns the function f of `num_items` items that defines the divergence.
// InvalidArgument if cutoff is 0 for kTop, or not 0 for kAllPairs.
absl::StatusOr<std::unique_ptr<CardinalityFunction>> MakeDivergence(
    AggregateDivergence divergence, uint32_t cutoff, size_t num_items);

}  // namespace sortition
