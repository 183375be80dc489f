#pragma once
// Computes the estimates that the gate uses, and how reliable they are. They
// compare a trained policy with the logging policy on tuples that neither
// training nor selection has seen.
#include <cstddef>
#include <string>

#include "core/counterfactual/diagnostics.h"
#include "core/learners/counterfactual/weighted_tuples.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

struct EvaluationTask {
  const WeightedParts& parts;  // Validation chooses the clip and λ only.
  double confidence = 0.95;
  double reward_min = 0;
  double reward_max = 1;
  // M of the objective (infinity: none), and how many policies were compared in
  // validation. 0: unknown, so nothing is said about them.
  double train_clip = 1;
  size_t num_policies = 0;
  // Which look at the test part this is, from 1 (LookLedger): all of them share
  // the failure probability of the improvement. 0: the only one.
  uint64_t look = 0;
};

// Returns estimates in the units of the rewards, overlap, findings and bounds;
// the caller adds counts, grid, promoted and verdict. Uses the clip that
// promises the tightest lower bound of the improvement on the validation tuples
// (ChooseEvaluationClip).
//
// The bounds are: Theorem 3 on the validation part, over the compared policies;
// Theorem 3 on the training part, over the family, if its ball is known; and
// logarithmic smoothing on the test part, with λ chosen in validation. Each
// fails with the probability of one side of an interval.
model::v1::Evaluation Evaluate(const EvaluationTask& task);

// Returns true if both are of the same decisions in the same order, by units
// and logged propensities.
bool AreOfSameDecisions(const WeightedTuples& a, const WeightedTuples& b);

// Returns how much more the policy earns than one with the weights `other` of
// the same test part, at the confidence of the improvement: what passes must
// pass both, so that neither is charged for the other. Requires
// AreOfSameDecisions(), since weights are paired by index.
model::v1::Estimate ImprovementOver(const EvaluationTask& task,
                                    const WeightedTuples& other);

// Returns the part of it that does not look at rewards of the test part.
model::v1::Evaluation EvaluateBeforeTest(const EvaluationTask& task);

// Returns the estimate that decides whether to look at the test part.
model::v1::Estimate ValidationImprovement(const EvaluationTask& task);

// Adds that SELF_NORMALISED left the log, whose mean weight in validation this
// is, so that CRM was learned instead.
void AddLeftLog(const MeanWeight& weight, model::v1::Evaluation* evaluation);

// Puts the gravest first.
void SortFindings(model::v1::Evaluation* evaluation);

// Returns `verdict`, followed by the most serious finding if the log
// contradicts itself or cannot support the estimates of the test part.
std::string WithReservation(std::string verdict,
                            const model::v1::Evaluation& evaluation);

// Returns true if the logged propensities are inconsistent: the lower bound of
// the improvement is then meaningless, and the gate must not rely on it.
bool ContradictsItself(const model::v1::Evaluation& evaluation);

}  // namespace sortition
