#pragma once
// `crf`: conditional random fields over orders [VolkovsLarochelleZemel11]
// (crf_training.h) in the frame of labelled learners.
//
// A point is a temperature or loss weight, if the objective has one, together
// with a learning rate or λ. The validation queries' mean NDCG of the order by
// score (eq. 12), which is 0 for queries without a relevant candidate, chooses
// epochs and points. Publishes boltzmann_ranking, which is the model itself, or
// what rank_policy asks for; softmax_selection for action select.
#include <memory>

#include "absl/status/statusor.h"
#include "core/learners/labelled/labelled_learner.h"
#include "sortition/config/v1/orders.pb.h"

namespace sortition {

// InvalidArgument if an option is out of its range, or belongs to another
// objective or optimiser.
absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeCrfLearner(
    const config::v1::CrfOptions& options, const LabelledShape& shape);

}  // namespace sortition
