#pragma once
// Converts a logged tuple to what is trained on, or says why it cannot be used.
#include <optional>

#include "absl/status/statusor.h"
#include "core/data/action.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "core/policies/distribution_factory.h"
#include "sortition/log/v1/log.pb.h"
#include "trainer/tuples/left_out.h"

namespace sortition {

// What tuples must have in common to be trained on together.
struct TupleExpectation {
  ActionKind action_kind = ActionKind::kSelect;
  uint32_t num_features = 0;
  bool can_abstain = true;
  bool fixed_size = false;  // Of subsets.
  double reward_min = 0;
  double reward_max = 1;
};

// Returns how many candidates a subset has, as the request or else the policy
// says; 0 for any number, and where the action is not a subset.
uint32_t SubsetSize(const log::v1::Decision& decision);

// Returns whether `value` is finite and, but for rounding, at most 0.
bool IsLogPropensity(double value);

// InvalidArgument where the reward is outside [reward_min, reward_max].
absl::Status CheckReward(const log::v1::BanditTuple& logged, double reward_min,
                         double reward_max);

// Fills `result` and returns nothing, or returns why the tuple is left out.
// InvalidArgument for a reward outside [reward_min, reward_max]: then the
// options do not describe this log, and the scaled losses of all tuples would
// be wrong.
absl::StatusOr<std::optional<LeftOutReason>> ConvertTuple(
    const log::v1::BanditTuple& logged, const TupleExpectation& expectation,
    BanditTuple* result);

}  // namespace sortition
