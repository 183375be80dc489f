#pragma once
// Makes the distribution that a model's policy describes, and says what such a
// distribution can do: the one place that knows all kinds of policies.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/data/action.h"
#include "core/policies/distributions/action_distribution.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Returns the distribution that `policy` describes. InvalidArgument where
// ValidatePolicy() refuses the policy, or its kind is not one that is served.
absl::StatusOr<std::unique_ptr<const ActionDistribution>>
MakeActionDistribution(const model::v1::Policy& policy);

// Returns the name of the policy's kind in model.proto, as "plackett_luce";
// empty where it is not set.
std::string PolicyKindName(const model::v1::Policy& policy);

// Returns what kind of actions MakeActionDistribution(policy) draws.
ActionKind ActionKindOf(const model::v1::Policy& policy);

// Whether every action of the requested size has a positive probability,
// whatever the scores of `num_eligible` candidates are. Games leave some
// choices no chance, and so do Boltzmann rankings of more candidates than their
// head and sorted rankings of more than they shuffle: without a mixture most
// actions are impossible, and their rewards are never logged.
bool HasFullSupport(const model::v1::Policy& policy, size_t num_eligible);

// Returns how many candidates the policy chooses where the request does not
// say; 0: any number, or the policy does not choose subsets.
uint32_t SubsetSize(const model::v1::Policy& policy);

// Whether a request may ask for the size of the subset.
bool TakesSubsetSize(const model::v1::Policy& policy);

// Returns what is subtracted from every score; 0 for policies that do not
// choose subsets.
double SubsetThreshold(const model::v1::Policy& policy);

// Returns the distribution in which every action is equally likely: each
// eligible candidate, and abstaining where `abstain_score` is set; each order
// of top_k candidates; each subset, of size top_k where that is not 0.
std::unique_ptr<const ActionDistribution> MakeUniformDistribution(
    ActionKind action_kind);

}  // namespace sortition
