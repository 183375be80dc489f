#pragma once
// Learners of orders in the frame of labelled learners (grid_learner.h): each a
// grid of λ, chosen by the validation queries' graded DCG@10. They publish
// plackett_luce or boltzmann_ranking, softmax_selection for action select.
//  - ranksvm: rank_svm.h. `options` is a RankSvmOptions.
//  - listnet: list_net.h. A ListNetOptions.
//  - regression: relevance_regression.h, without the intercept, which changes
//    no order. A RegressionOptions.
#include <memory>

#include "absl/status/statusor.h"
#include "core/learners/labelled/labelled_learner.h"

namespace sortition {

absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeRankSvmLearner(
    const google::protobuf::Message& options, const LabelledShape& shape);
absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeListNetLearner(
    const google::protobuf::Message& options, const LabelledShape& shape);
absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeRegressionLearner(
    const google::protobuf::Message& options, const LabelledShape& shape);

}  // namespace sortition
