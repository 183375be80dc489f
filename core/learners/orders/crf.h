#pragma once
// `crf`: conditional random fields over orders [VolkovsLarochelleZemel11]
// (crf_training.h) in the frame of labelled learners.
//
// A point is a temperature or loss weight, if the objective has one, with a
// learning rate or λ. Epochs and points are chosen by the validation queries'
// mean NDCG of the order by score (eq. 12), 0 of a query without anything
// relevant. It publishes boltzmann_ranking, which is the model itself, or what
// rank_policy asks for; softmax_selection for action select.
#include <memory>

#include "absl/status/statusor.h"
#include "core/learners/labelled/labelled_learner.h"

namespace sortition {

// `options` is a CrfOptions. InvalidArgument where an option is out of its
// range, or set for another objective or optimiser than its own.
absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeCrfLearner(
    const google::protobuf::Message& options, const LabelledShape& shape);

}  // namespace sortition
