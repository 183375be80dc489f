#pragma once
// The estimates that the gate uses: a trained policy against the logging
// policy, on tuples that neither training nor selection has seen; and how
// reliable they are.
#include <cstddef>
#include <string>

#include "core/learners/counterfactual/weighted_tuples.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

struct EvaluationTask {
  const WeightedParts& parts;  // Validation chooses the clip and λ only.
  double confidence = 0.95;
  double reward_min = 0;
  double reward_max = 1;
  // M of the objective (infinity: none), and how many policies were compared in
  // validation. 0: unknown; nothing is said of them.
  double train_clip = 1;
  size_t num_policies = 0;
};

// Estimates in the units of the rewards, overlap, findings and bounds; counts,
// grid, promoted and verdict are the caller's. The clip is the one that
// promises the tightest lower bound of the improvement on the validation tuples
// (ChooseEvaluationClip).
//
// Bounds: Theorem 3 over the compared policies on the validation part and over
// the family, where its ball is known, on the training part; logarithmic
// smoothing on the test part, λ chosen in validation. Each fails with the
// probability of one side of an interval.
model::v1::Evaluation Evaluate(const EvaluationTask& task);

// `verdict`, followed by the gravest sentence where the log contradicts itself
// or cannot support the estimates of the test part.
std::string WithReservation(std::string verdict,
                            const model::v1::Evaluation& evaluation);

// Returns true if the logged propensities are inconsistent: the lower bound of
// the improvement is then meaningless, and the gate must not rely on it.
bool ContradictsItself(const model::v1::Evaluation& evaluation);

}  // namespace sortition
