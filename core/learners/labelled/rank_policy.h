#pragma once
// Makes the policies of linear scores that were learned from labels.
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/learners/labelled/labelled_learner.h"
#include "sortition/config/v1/labelled.pb.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Makes the policy of the task's action, with its α and ε:
//  - kRank: plackett_luce, boltzmann_ranking (with DCG's rank weights) or
//    sorted_ranking, as task.rank says; if it does not say, `rank_kind`;
//  - kSelect: softmax_selection, which never abstains;
//  - kSubset: independent_subset with the task's threshold; if `subset_size`
//    is 0, of any size.
// InvalidArgument if options of rank_policy have no meaning together, and for
// what CheckLearnedThreshold() or ValidatePolicy() refuses.
absl::StatusOr<model::v1::Policy> MakeRankPolicy(
    const LabelledPolicyTask& task,
    config::v1::RankPolicyOptions::Kind rank_kind =
        config::v1::RankPolicyOptions::PLACKETT_LUCE,
    uint32_t subset_size = 0);

// InvalidArgument if the learned threshold is not permitted in a policy of
// subsets.
absl::Status CheckLearnedThreshold(double threshold);

}  // namespace sortition
