#include "trainer/offpolicy/evaluate.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/counterfactual/bounds.h"
#include "core/counterfactual/diagnostics.h"
#include "core/counterfactual/estimators.h"
#include "core/counterfactual/evaluation/improvement.h"
#include "core/counterfactual/findings.h"
#include "core/counterfactual/loss_scaling.h"
#include "core/counterfactual/risks.h"
#include "io/models/look_ledger.h"

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

void StoreOverlap(const Overlap& overlap, model::v1::Overlap* stored) {
  stored->set_tuples(overlap.num_tuples);
  stored->set_mean_weight(overlap.weight.value);
  stored->set_mean_weight_error(overlap.weight.error);
  stored->set_effective_sample_size(overlap.effective_sample_size);
  stored->set_largest_share(overlap.largest_share);
  stored->set_half_weight_tuples(overlap.half_weight_tuples);
  if (std::isfinite(overlap.clip)) stored->set_clip(overlap.clip);
  stored->set_clipped_fraction(overlap.clipped_fraction);
  stored->set_clipped_mass(overlap.clipped_mass);
  stored->set_median_weight(overlap.median_weight);
  stored->set_weight_p90(overlap.weight_p90);
  stored->set_weight_p99(overlap.weight_p99);
  stored->set_largest_weight(overlap.largest_weight);
  stored->set_smallest_propensity(overlap.smallest_propensity);
  stored->set_deterministic_fraction(overlap.deterministic_fraction);
  stored->set_shown_otherwise_fraction(overlap.shown_otherwise_fraction);
  stored->set_without_full_support_fraction(
      overlap.without_full_support_fraction);
  stored->set_uniform_mean_weight(overlap.uniform_weight.value);
  stored->set_uniform_mean_weight_error(overlap.uniform_weight.error);
  stored->set_largest_uniform_weight(overlap.largest_uniform_weight);
}

model::v1::Finding::Gravity StoredGravity(Gravity gravity) {
  switch (gravity) {
    case Gravity::kContradiction:
      return model::v1::Finding::CONTRADICTION;
    case Gravity::kUnsupported:
      return model::v1::Finding::UNSUPPORTED;
    case Gravity::kCaution:
      break;
  }
  return model::v1::Finding::CAUTION;
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
  for (Finding& finding : JudgeOverlap(overlap, use)) {
    model::v1::Finding& added = all->emplace_back();
    added.set_gravity(StoredGravity(finding.gravity));
    added.set_part(use == TupleUse::kHeldOut ? "test" : "train");
    added.set_kind(std::string(FindingKindName(finding.kind)));
    added.set_sentence(std::move(finding.sentence));
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

void AddBounds(const EvaluationTask& task, Evaluation* evaluation) {
  const WeightedParts& parts = task.parts;
  AddLogSmoothing(task, parts.validation, parts.test, evaluation);
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

void AddEstimates(const EvaluationTask& task, Evaluation* evaluation) {
  const WeightedTuples& validation = task.parts.validation;
  const WeightedTuples& test = task.parts.test;
  const double clip = ChooseEvaluationClip(
      validation.rewards, validation.log_weights, test.size(), task.confidence);
  OffPolicyEstimator estimator(clip);
  for (size_t i = 0; i < test.size(); ++i) {
    estimator.Add(test.rewards[i], test.log_weights[i]);
  }
  const OffPolicyEstimates estimates = estimator.Estimate(task.confidence);
  Store(estimates.logging, task.reward_min, task,
        evaluation->mutable_logging_reward());
  Store(estimates.ips, task.reward_min, task, evaluation->mutable_ips_reward());
  Store(estimates.snips, task.reward_min, task,
        evaluation->mutable_snips_reward());
  const double share = task.look > 0 ? ShareOfLook(task.look) : 1;
  const double confidence = 1 - (1 - task.confidence) * share;
  Store(EstimateImprovement({.rewards = test.rewards,
                             .log_weights = test.log_weights,
                             .units = test.units},
                            confidence),
        0, task, evaluation->mutable_improvement());
  evaluation->mutable_improvement()->set_confidence(confidence);
  evaluation->set_look(task.look);
  evaluation->set_test_units(NumUnits(test.units));
  evaluation->set_effective_sample_size(estimates.effective_sample_size);
  evaluation->set_clipped_fraction(estimates.clipped_fraction);
  evaluation->set_clip(clip);
  evaluation->set_validation_tuples(validation.size());
  evaluation->set_test_tuples(test.size());
}

void AddFindings(const EvaluationTask& task, Evaluation* evaluation) {
  std::vector<model::v1::Finding> findings;
  Judge(task.parts.test, evaluation->clip(), TupleUse::kHeldOut,
        evaluation->mutable_test_overlap(), &findings);
  if (task.parts.train.size() > 0) {
    Judge(task.parts.train, task.train_clip, TupleUse::kTraining,
          evaluation->mutable_train_overlap(), &findings);
  }
  // Findings about the estimates come before findings about learning.
  std::stable_sort(
      findings.begin(), findings.end(),
      [](const auto& a, const auto& b) { return a.gravity() > b.gravity(); });
  for (auto& finding : findings) {
    *evaluation->add_findings() = std::move(finding);
  }
}

}  // namespace

Evaluation Evaluate(const EvaluationTask& task) {
  Evaluation evaluation;
  AddEstimates(task, &evaluation);
  AddFindings(task, &evaluation);
  AddBounds(task, &evaluation);
  return evaluation;
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
