#pragma once
// A logged tuple to what is trained on, or the reason why it cannot be used.
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/data/action.h"
#include "core/data/candidates.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "core/policies/distribution_factory.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// What every tuple must be to be trained on together.
struct TupleExpectation {
  ActionKind action_kind = ActionKind::kSelect;
  uint32_t num_features = 0;
  bool can_abstain = true;
  bool fixed_size = false;  // Subsets.
  double reward_min = 0;
  double reward_max = 1;
};

// Reasons; also the keys of TrainReport.excluded.
inline constexpr absl::string_view kOtherModel = "other model";
inline constexpr absl::string_view kOtherVersion = "other version";
inline constexpr absl::string_view kOtherAction = "other kind of action";
inline constexpr absl::string_view kOtherFeatures = "other number of features";
inline constexpr absl::string_view kBadPropensity = "propensity not in (0, 1]";
inline constexpr absl::string_view kBadFeatures = "malformed features";
inline constexpr absl::string_view kBadAction = "malformed action";
inline constexpr absl::string_view kBadReward = "reward not finite";
inline constexpr absl::string_view kAbstained =
    "abstained, which the newest version cannot";
inline constexpr absl::string_view kOtherSize =
    "subset of fixed size among those of any, or the reverse";
inline constexpr absl::string_view kTooLarge = "subset too large to learn from";
inline constexpr absl::string_view kSeeded = "drawn with the request's seed";

// Empty for a kind that is not known, and for labels.
std::optional<ActionKind> ActionKindOf(const log::v1::Decision& decision);

// Candidates to choose, as the request or else the policy has it; 0: any
// number, or no subset.
uint32_t SubsetSize(const log::v1::Decision& decision);

// The candidates as logged, a view of `decision`, validated; empty where
// malformed.
std::optional<Candidates> LoggedCandidates(const log::v1::Decision& decision);

// Finite and not above 0 but for rounding.
bool IsLogPropensity(double value);

// InvalidArgument where the reward is outside [reward_min, reward_max].
absl::Status CheckReward(const log::v1::BanditTuple& logged, double reward_min,
                         double reward_max);

// Fills `result` and returns an empty reason, or returns why the tuple is left
// out. InvalidArgument for a reward outside [reward_min, reward_max]: then the
// options do not describe this log, and scaled losses would be wrong for all.
absl::StatusOr<absl::string_view> ConvertTuple(
    const log::v1::BanditTuple& logged, const TupleExpectation& expectation,
    BanditTuple* result);

}  // namespace sortition
