#pragma once
// How undecided a version is: the entropy of its first choice.
#include <span>
#include <vector>

#include "core/base/hash.h"
#include "core/policies/linear_policy.h"
#include "server/models/served_model.h"

namespace sortition {

// Observes, of one decision in 256 by its key, the entropy -Σ p log p, in nats,
// of what is selected (or abstained) or placed first. Candidates are scored
// once more for it, in memory that is reused: so it is done seldom, not with
// more than 10,000 candidates, and only where the policy is softmax_selection,
// plackett_luce or uniform, whose probabilities cost little.
void SampleEntropy(const ServedModel& model, const LinearPolicy& policy,
                   const PolicyQuery& query, const Hash128& key,
                   PolicyWorkspace* workspace,
                   std::vector<double>* probabilities);

// Returns the entropy of `probabilities` and a further one, nats.
double EntropyOf(std::span<const double> probabilities, double further);

}  // namespace sortition
