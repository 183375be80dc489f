#pragma once
// Learners of rankings in the frame of labelled learners (tuned_learner.h).
// Each tries several λ and chooses by the validation queries' graded DCG@10.
// They publish plackett_luce or boltzmann_ranking; softmax_selection for action
// select.
//  - ranksvm: rank_svm.h.
//  - listnet: list_net.h.
//  - regression: relevance_regression.h, without the intercept, which changes
//    no ranking.
#include <memory>

#include "absl/status/statusor.h"
#include "core/learners/labelled/labelled_learner.h"
#include "sortition/config/v1/orders.pb.h"

namespace sortition {

absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeRankSvmLearner(
    const config::v1::RankSvmOptions& options, const LabelledShape& shape);
absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeListNetLearner(
    const config::v1::ListNetOptions& options, const LabelledShape& shape);
absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeRegressionLearner(
    const config::v1::RegressionOptions& options, const LabelledShape& shape);

}  // namespace sortition
