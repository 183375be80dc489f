#pragma once
// Lovász-Mallows models in the frame of labelled learners (tuned_learner.h):
//   p(σ | θ, X) ∝ exp(-Σ_i θ_i d(x_i‖σ))  (seed 002, eq. 21 and 26),
// x_i the i-th feature of a query's candidates as a list of scores, σ the order
// by falling relevance; θ of largest likelihood (lovasz_mallows.h), λ by the
// likelihood of the validation queries' orders. Published as boltzmann_ranking
// with the weights θ and the head 16, which draws from exactly this model if
// there are no more candidates, apart from the mixtures that the options ask
// for.
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
