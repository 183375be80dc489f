#pragma once
// Lovász-Mallows models as a labelled learner (tuned_learner.h):
//   p(σ | θ, X) ∝ exp(-Σ_i θ_i d(x_i‖σ))  (seed 002, eq. 21 and 26),
// where x_i is the i-th feature of a query's candidates as a list of scores,
// and σ the order by falling relevance. θ maximises the likelihood
// (lovasz_mallows.h). The likelihood of the validation queries' orders chooses
// λ. Publishes boltzmann_ranking with the weights θ and the head 16. With at
// most that many candidates it draws from exactly this model, apart from the
// mixtures that the options ask for.
//
// Candidates of equal relevance have no order: InvalidArgument if the
// divergence distinguishes their ranks. Queries have at most 16 candidates.
#include <memory>

#include "absl/status/statusor.h"
#include "core/learners/labelled/labelled_learner.h"
#include "sortition/config/v1/orders.pb.h"

namespace sortition {

absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeMallowsLearner(
    const config::v1::MallowsOptions& options, const LabelledShape& shape);

}  // namespace sortition
