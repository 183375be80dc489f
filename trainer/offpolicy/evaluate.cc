#include "trainer/offpolicy/evaluate.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/check.h"
#include "core/counterfactual/bounds.h"
#include "core/counterfactual/diagnostics.h"
#include "core/counterfactual/estimators.h"
#include "core/counterfactual/evaluation/improvement.h"
#include "core/counterfactual/findings.h"
#include "core/counterfactual/loss_scaling.h"
#include "core/counterfactual/risks.h"
#include "io/models/look_ledger.h"
#include "trainer/offpolicy/stored_overlap.h"

namespace sortition {
namespace {

using model::v1::Evaluation;

// `offset` is reward_min for rewards, 0 for differences of them.
void Store(const Interval& interval, double offset, const EvaluationTask& task,
           model::v1::Estimate* estimate) {
  const double range = task.reward_max - task.reward_min;
  estimate->set_value(offset + range * interval.value);
  estimate->set_lower(offset + range * interval.lower);
  estimate->set_upper(offset + range * interval.upper);
  estimate->set_confidence(task.confidence);
}

void Judge(const WeightedTuples& weighted, double clip, TupleUse use,
           model::v1::Overlap* stored, std::vector<model::v1::Finding>* all) {
  const Overlap overlap =
      MeasureOverlap({.log_weights = weighted.log_weights,
                      .log_propensities = weighted.log_propensities,
                      .log_uniform = weighted.log_uniform,
                      .shown_otherwise = weighted.shown_otherwise,
                      .without_full_support = weighted.without_full_support,
                      .impossible = weighted.impossible,
                      .clip = clip});
  StoreOverlap(overlap, stored);
  for (model::v1::Finding& finding : StoredFindings(overlap, use)) {
    finding.set_part(use == TupleUse::kHeldOut ? "test" : "train");
    all->push_back(std::move(finding));
  }
}

// Returns the probability that one side of an interval fails.
double Failure(const EvaluationTask& task) { return (1 - task.confidence) / 2; }

void AddBound(const EvaluationTask& task, double risk, const char* part,
              model::v1::RewardBound bound, Evaluation* evaluation) {
  bound.set_part(part);
  bound.set_confidence(1 - Failure(task));
  bound.set_vacuous(risk >= 0);
  bound.set_lower(
      LossToReward(std::fmin(risk, 0), task.reward_min, task.reward_max));
  *evaluation->add_bounds() = std::move(bound);
}

void AddTheorem3(const EvaluationTask& task, const WeightedTuples& weighted,
                 double log_capacity, double failure, const char* part,
                 Evaluation* evaluation) {
  const ClippedBound best = BestCrmBound(
      weighted.Losses(), weighted.log_weights, log_capacity, failure);
  model::v1::RewardBound bound;
  bound.set_method("theorem_3");
  bound.set_clip(best.clip);
  bound.set_log_capacity(log_capacity);
  AddBound(task, best.risk, part, std::move(bound), evaluation);
}

void AddLogSmoothing(const EvaluationTask& task,
                     const WeightedTuples& validation,
                     const WeightedTuples& test, Evaluation* evaluation) {
  const double lambda = ChooseLogSmoothingLambda(
      validation.Losses(), validation.log_weights, test.size(), Failure(task));
  const double risk = LogSmoothingRisk::Create(lambda)->Evaluate(
      test.Losses(), test.log_weights, {});
  model::v1::RewardBound bound;
  bound.set_method("log_smoothing");
  bound.set_lambda(lambda);
  AddBound(task, LogSmoothingBound(risk, lambda, test.size(), Failure(task)),
           "test", std::move(bound), evaluation);
}

// Adds the bounds that need no test part.
void AddBoundsBeforeTest(const EvaluationTask& task, Evaluation* evaluation) {
  const WeightedParts& parts = task.parts;
  if (task.num_policies > 0) {
    AddTheorem3(task, parts.validation,
                std::log(static_cast<double>(task.num_policies)), Failure(task),
                "validation", evaluation);
  }
  if (parts.ball.has_value() && parts.train.size() > 0) {
    LinearFamilyBall ball = *parts.ball;
    const RadiusShare radius = ChooseRadius(ball.radius);
    ball.radius = radius.radius;
    AddTheorem3(task, parts.train,
                LinearFamilyLogCapacity(ball, parts.train.size()),
                radius.share * Failure(task), "train", evaluation);
  }
}

// Returns the improvement with bounds by units.
model::v1::Estimate Improvement(const EvaluationTask& task,
                                const WeightedTuples& part, double confidence,
                                std::span<const double> other = {}) {
  model::v1::Estimate estimate;
  Store(EstimateImprovement({.rewards = part.rewards,
                             .log_weights = part.log_weights,
                             .units = part.units,
                             .largest_unit = static_cast<double>(
                                 LargestUnit(task.parts.validation.units)),
                             .other_log_weights = other},
                            confidence),
        0, task, &estimate);
  estimate.set_confidence(confidence);
  return estimate;
}

double ConfidenceOfLook(const EvaluationTask& task) {
  const double share = task.look > 0 ? ShareOfLook(task.look) : 1;
  return 1 - (1 - task.confidence) * share;
}

void AddEstimates(const EvaluationTask& task, Evaluation* evaluation) {
  const WeightedTuples& test = task.parts.test;
  OffPolicyEstimator estimator(evaluation->clip());
  for (size_t i = 0; i < test.size(); ++i) {
    estimator.Add(test.rewards[i], test.log_weights[i]);
  }
  const OffPolicyEstimates estimates = estimator.Estimate(task.confidence);
  Store(estimates.logging, task.reward_min, task,
        evaluation->mutable_logging_reward());
  Store(estimates.ips, task.reward_min, task, evaluation->mutable_ips_reward());
  Store(estimates.snips, task.reward_min, task,
        evaluation->mutable_snips_reward());
  Store(estimates.improvement, 0, task,
        evaluation->mutable_clipped_improvement());
  *evaluation->mutable_improvement() =
      Improvement(task, test, ConfidenceOfLook(task));
  evaluation->set_look(task.look);
  evaluation->set_effective_sample_size(estimates.effective_sample_size);
  evaluation->set_clipped_fraction(estimates.clipped_fraction);
}

// Adds what does not look at the rewards of the test part.
void AddSizesAndClip(const EvaluationTask& task, Evaluation* evaluation) {
  const WeightedTuples& validation = task.parts.validation;
  const WeightedTuples& test = task.parts.test;
  evaluation->set_clip(ChooseEvaluationClip(validation.rewards,
                                            validation.log_weights, test.size(),
                                            task.confidence));
  evaluation->set_validation_tuples(validation.size());
  evaluation->set_test_tuples(test.size());
  evaluation->set_test_units(NumUnits(test.units));
}

void AddFindings(const EvaluationTask& task, Evaluation* evaluation) {
  std::vector<model::v1::Finding> findings;
  Judge(task.parts.test, evaluation->clip(), TupleUse::kHeldOut,
        evaluation->mutable_test_overlap(), &findings);
  if (task.parts.train.size() > 0) {
    Judge(task.parts.train, task.train_clip, TupleUse::kTraining,
          evaluation->mutable_train_overlap(), &findings);
  }
  for (auto& finding : findings) {
    *evaluation->add_findings() = std::move(finding);
  }
  // Findings about the estimates come before findings about learning.
  SortFindings(evaluation);
}

}  // namespace

Evaluation Evaluate(const EvaluationTask& task) {
  Evaluation evaluation;
  AddSizesAndClip(task, &evaluation);
  AddEstimates(task, &evaluation);
  AddFindings(task, &evaluation);
  AddLogSmoothing(task, task.parts.validation, task.parts.test, &evaluation);
  AddBoundsBeforeTest(task, &evaluation);
  return evaluation;
}

bool AreOfSameDecisions(const WeightedTuples& a, const WeightedTuples& b) {
  return a.units == b.units && a.log_propensities == b.log_propensities;
}

model::v1::Estimate ImprovementOver(const EvaluationTask& task,
                                    const WeightedTuples& other) {
  CHECK(AreOfSameDecisions(task.parts.test, other));
  return Improvement(task, task.parts.test, ConfidenceOfLook(task),
                     other.log_weights);
}

Evaluation EvaluateBeforeTest(const EvaluationTask& task) {
  Evaluation evaluation;
  AddSizesAndClip(task, &evaluation);
  AddFindings(task, &evaluation);
  AddBoundsBeforeTest(task, &evaluation);
  return evaluation;
}

model::v1::Estimate ValidationImprovement(const EvaluationTask& task) {
  return Improvement(task, task.parts.validation, task.confidence);
}

void AddLeftLog(const MeanWeight& weight, Evaluation* evaluation) {
  model::v1::Finding* finding = evaluation->add_findings();
  finding->set_gravity(model::v1::Finding::CAUTION);
  finding->set_part("train");
  finding->set_kind("left_the_log");
  finding->set_sentence(absl::StrCat(
      "SELF_NORMALISED left the log, so CRM was learned instead: the mean "
      "weight in validation was ",
      absl::StrFormat("%.3g ± %.2g", weight.value, weight.error),
      " where 1 is expected. It does not charge for actions that were never "
      "logged; log with more exploration before it is of use."));
  SortFindings(evaluation);
}

void SortFindings(Evaluation* evaluation) {
  std::stable_sort(
      evaluation->mutable_findings()->begin(),
      evaluation->mutable_findings()->end(),
      [](const auto& a, const auto& b) { return a.gravity() > b.gravity(); });
}

std::string WithReservation(std::string verdict, const Evaluation& evaluation) {
  for (const auto& finding : evaluation.findings()) {
    if (finding.gravity() == model::v1::Finding::CONTRADICTION ||
        (finding.gravity() == model::v1::Finding::UNSUPPORTED &&
         finding.part() == "test")) {
      return absl::StrCat(verdict, " Note: ", finding.sentence());
    }
  }
  return verdict;
}

bool ContradictsItself(const Evaluation& evaluation) {
  return std::any_of(evaluation.findings().begin(), evaluation.findings().end(),
                     [](const auto& finding) {
                       return finding.gravity() ==
                              model::v1::Finding::CONTRADICTION;
                     });
}

}  // namespace sortition
