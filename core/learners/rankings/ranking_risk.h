#pragma once
// The objectives of this folder as risks of the counterfactual grid
// (core/learners/counterfactual/grid_risk.h), chosen by PoemOptions:
//   rank_weights PREFIXES       PrefixTerms, f of the objective; with
//                               DOUBLY_ROBUST CascadeTerms of a
//                               LinearRankLossModel
//   rank_weights ITEM_POSITION  ItemPositionTerms, f of the objective
//   objective EXPOSURE          ExposureTerms; with sampled_orders
//                               SampledExposureTerms; with failure_probability
//                               SafeExposureObjective
// f is ClippedTerm(M), or for LOG_SMOOTHING LogSmoothedTerm(λ).
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/learners/counterfactual/grid_risk.h"
#include "core/learners/rankings/ranked_tuple.h"
#include "sortition/config/v1/poem.pb.h"

namespace sortition {

// What EXPOSURE knows of a logged ranking, by row of its tuple.
struct ExposedTuple {
  // e_d(0), positive: how much the policy that logged exposed the candidate.
  std::vector<double> exposures;
  // Σ (clicks - offset) / e_d(0) over the ranks at which it was shown.
  std::vector<double> gains;
};

// What is known of logged rankings for the objectives of this folder.
struct RankingRiskData {
  RankedLog log;  // The training tuples; EXPOSURE needs no `ranks`.
  std::span<const ExposedTuple> exposed = {};  // One each; EXPOSURE only.
};

// What the options need beside bandit tuples.
struct RankingNeeds {
  bool ranks = false;      // RankedTuples
  bool marginals = false;  // and their log_marginals
  bool exposures = false;  // ExposedTuples

  bool any() const { return ranks || exposures; }
};
RankingNeeds NeedsOf(const config::v1::PoemOptions& options);

// Returns an empty function if the options need nothing. What `data` views must
// outlive what is returned. InvalidArgument as ValidatePoemOptions(), and,
// naming tuple, value and permitted range, if a part of `data` that is needed
// is missing or out of its range.
absl::StatusOr<MakeGridRisk> PrepareRankingRisk(
    const RankingRiskData& data, const config::v1::PoemOptions& options);

// Returns the risk of validation tuples with the weights of rank_weights:
// PrefixTerms or ItemPositionTerms without a model and without smoothing,
// whatever the objective, because both are biased towards what was learned with
// them. Returns none for ORDER and for EXPOSURE. Errors as
// PrepareRankingRisk().
absl::StatusOr<ValidationRisk> PrepareRankingValidation(
    const RankedLog& log, const config::v1::PoemOptions& options);

}  // namespace sortition
