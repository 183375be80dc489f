#pragma once
// What a tuple is worth for judging versions of its model, whoever decided it.
#include <cstdint>
#include <utility>
#include <vector>

#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Importance weights, each version once.
using VersionWeights = std::vector<std::pair<uint64_t, double>>;

// Sets `weights` to the importance weights ρ = p_a / p of a tuple that the log
// alone tells. p is the propensity of the whole choice: under the mixture
// of all arms where the record has it, otherwise the decision's own. p_a, of
// the same action under version a, is known
//   of the version that decided alone: the decision's own propensity;
//   where the caller's baseline had a part: if the model was asked;
//   of a shadow that looked on: as its view says;
//   of the other one of two arms: from the mixture, (p - q p_b) / q_a, for
//   version b that decided with probability q = 1 - q_a.
// Not of the versions of an interleaved order, nor of further arms, unless they
// looked on. `choice` is what ParseChoice() leaves of the decision; `tuple`
// lacks it.
void TargetWeights(const log::v1::BanditTuple& tuple,
                   const log::v1::Decision& choice, VersionWeights* weights);

}  // namespace sortition
