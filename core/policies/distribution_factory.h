#pragma once
// Makes the distribution that a model's policy describes, and says what such a
// distribution can do.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "core/data/action.h"
#include "core/policies/action_distribution.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// The distribution that `policy` describes. InvalidArgument where its kind is
// unset, inverse_temperature is outside (0, 1e6], uniform_mixture is outside
// [0, 1], the abstain score or the threshold is not finite or beyond ±1e6, or
// the fields of a game or a Boltzmann ranking are out of their ranges.
absl::StatusOr<std::unique_ptr<const ActionDistribution>>
MakeActionDistribution(const model::v1::Policy& policy);

// Of what MakeActionDistribution() makes.
ActionKind ActionKindOf(const model::v1::Policy& policy);

// Whether every action, of the size that is asked for, has a positive
// probability whatever the scores of so many eligible candidates. Games have
// certain parts, Boltzmann rankings of more candidates than their head as well:
// without a mixture most actions are impossible, and their rewards never
// logged.
bool HasFullSupport(const model::v1::Policy& policy, size_t num_eligible);

// Candidates that the policy chooses where a request does not say; 0: any
// number, or no subset.
uint32_t SubsetSize(const model::v1::Policy& policy);

// Every action equally likely: for all eligible candidates, and abstaining
// where `abstain_score` is set; for every order of top_k; for every subset, of
// size top_k where that is not 0.
std::unique_ptr<const ActionDistribution> MakeUniformDistribution(
    ActionKind action_kind);

}  // namespace sortition
