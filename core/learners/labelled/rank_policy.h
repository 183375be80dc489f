#pragma once
// The policies of linear scores that were learned from labels.
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/learners/labelled/labelled_learner.h"
#include "sortition/config/v1/labelled.pb.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// With α and ε of the task,
//  - kRank: plackett_luce or boltzmann_ranking (of DCG's rank weights), as
//    task.rank says, else `rank_kind`;
//  - kSelect: softmax_selection, which never abstains;
//  - kSubset: independent_subset of the task's threshold; `subset_size` 0: of
//    any size.
// InvalidArgument for options of rank_policy that have no meaning with the
// others, and for what CheckLearnedThreshold() or ValidatePolicy() refuses.
absl::StatusOr<model::v1::Policy> MakeRankPolicy(
    const LabelledPolicyTask& task,
    config::v1::RankPolicyOptions::Kind rank_kind =
        config::v1::RankPolicyOptions::PLACKETT_LUCE,
    uint32_t subset_size = 0);

// InvalidArgument where no policy of subsets may have this threshold, which was
// learned.
absl::Status CheckLearnedThreshold(double threshold);

}  // namespace sortition
