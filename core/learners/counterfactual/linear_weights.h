#pragma once
// The weights of selections, rankings and subsets.
#include <optional>
#include <span>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/counterfactual/bounds.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "core/learners/counterfactual/weighted_tuples.h"

namespace sortition {

// Of the policy that is served. What something else was shown for weighs 0,
// whatever the objective makes of it. Errors as LinearTuplePolicy::Create().
absl::StatusOr<WeightedTuples> WeighLinear(const LinearFamily& family,
                                           const Eigen::VectorXd& parameters,
                                           std::span<const BanditTuple> tuples);

// Of the most probable action always, ties to the lower row: what softmax
// becomes as α grows without limit (seed 004, sec. 6.3).
absl::StatusOr<WeightedTuples> WeighMap(const LinearFamily& family,
                                        const Eigen::VectorXd& parameters,
                                        std::span<const BanditTuple> tuples);

// As WeightedParts.ball; none where a Boltzmann ranking has more candidates
// than its head: its probabilities jump.
std::optional<LinearFamilyBall> LinearBall(const LinearFamily& family,
                                           const Eigen::VectorXd& parameters,
                                           std::span<const BanditTuple> train);

}  // namespace sortition
