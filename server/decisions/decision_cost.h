#pragma once
// About how long decisions take, so that none that takes long is made where
// others wait behind it.
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/policies/linear_policy.h"
#include "server/decisions/decision_scratch.h"
#include "server/decisions/version_choice.h"
#include "server/models/serving_set.h"
#include "sortition/model/v1/model.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

// What more is taken for long.
inline constexpr double kLongSeconds = 0.001;

// Returns about how long a draw from the policy takes among `num_eligible`
// candidates, seconds, right to a factor of a few: of subsets, `size` are
// chosen (0: any number). A game of F-score, whose time nobody knows before,
// counts as long from 32 candidates on.
double DrawSeconds(const model::v1::Policy& policy, uint32_t num_eligible,
                   uint32_t size);

// Returns about how long `model` takes to make the features of a query: its
// transforms, trees and hidden units. Columns of the query must have passed
// CheckColumns(). InvalidArgument if `model` reads a column that the query
// lacks or has in another type, or if its transforms take too many steps.
absl::StatusOr<double> FeatureSeconds(const ServedModel& model,
                                      const PolicyQuery& query);

// Returns about how long a whole decision takes. InvalidArgument as
// FeatureSeconds() of each version that has a part in the decision or in its
// propensity.
absl::StatusOr<double> DecisionSeconds(const v1::DecisionContext& context,
                                       const ServingSet& set,
                                       const VersionChoice& choice,
                                       const PolicyQuery& query);

// Returns about how long an aggregation takes with its bootstrap, whose `work`
// is counted as by limits.max_aggregate_work.
double AggregateSeconds(uint32_t num_eligible, uint32_t num_sources,
                        uint64_t work);

// Returns true, and notes the time, if so much may not be taken here.
inline bool IsTooLong(double seconds, DecisionScratch* scratch) {
  if (seconds <= kLongSeconds || scratch->may_take_long) return false;
  scratch->long_seconds = seconds;
  return true;
}

// How a method fails where IsTooLong(). Nobody outside sees it.
inline absl::Status TooLong() {
  return absl::Status(absl::StatusCode::kAborted, "");
}

}  // namespace sortition
