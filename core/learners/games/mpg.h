#pragma once
// `mpg` in the frame of labelled learners: prediction games
// [WangXingAsifZiebart15], trained by game_learner.h.
#include <memory>

#include "absl/status/statusor.h"
#include "core/learners/labelled/labelled_learner.h"
#include "sortition/config/v1/games.pb.h"

namespace sortition {

// options.max_relevance, if unset, becomes the data's. InvalidArgument if
// options contradict each other or the data, and for what cannot be served:
// NDCG and LETOR's discounts, PER_LEVEL potentials (policies have one weight
// per feature), and F_BETA with centred features (they have no threshold for a
// set).
//
// Needs a constant feature if the adversary is free, so that ψ = 0 can be the
// threshold. Publishes game_ranking for DCG, GRADED_DCG and PRECISION, and
// game_subset for PRECISION and F_BETA. Training calibrates the potentials, so
// the inverse temperature is 1.
absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeMpgLearner(
    const config::v1::GameOptions& options, const LabelledShape& shape);

}  // namespace sortition
