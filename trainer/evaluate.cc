#include "trainer/evaluate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/bounds.h"
#include "core/counterfactual/diagnostics.h"
#include "core/counterfactual/estimators.h"
#include "core/counterfactual/findings.h"
#include "core/counterfactual/loss_scaling.h"
#include "core/counterfactual/risks.h"
#include "core/learners/calibration.h"

namespace sortition {
namespace {

using model::v1::Evaluation;

struct Weighted {
  std::vector<double> rewards;  // In [0, 1].
  std::vector<double> log_weights;
  std::vector<double> log_propensities;
  std::vector<double> log_uniform;
  uint64_t shown_otherwise = 0;
  uint64_t impossible = 0;

  // Of the policy: -r of what was shown as chosen.
  std::vector<double> Losses() const {
    std::vector<double> losses;
    for (const double reward : rewards) losses.push_back(-reward);
    return losses;
  }
};

// log ρ of the i-th of some tuples.
using LogWeightOf = std::function<double(size_t)>;
using MakeLogWeight = std::function<absl::StatusOr<LogWeightOf>(
    const EvaluationTask&, std::span<const BanditTuple>)>;

// log q of the logged action under the uniform policy over all of its query's.
double LogUniform(const LinearFamily& family, const BanditTuple& tuple) {
  const double rows = tuple.candidates().num_candidates();
  if (family.action_kind == ActionKind::kSelect) {
    return -std::log(rows + (family.can_abstain ? 1 : 0));
  }
  double log_orders = 0;
  for (size_t rank = 0; rank < tuple.action.size(); ++rank) {
    log_orders += std::log(rows - static_cast<double>(rank));
  }
  return -log_orders;
}

absl::StatusOr<Weighted> Weigh(const EvaluationTask& task,
                               std::span<const BanditTuple> tuples,
                               const MakeLogWeight& make_log_weight) {
  ASSIGN_OR_RETURN(const LogWeightOf log_weight, make_log_weight(task, tuples));
  Weighted weighted;
  weighted.rewards.reserve(tuples.size());
  weighted.log_weights.reserve(tuples.size());
  weighted.log_propensities.reserve(tuples.size());
  weighted.log_uniform.reserve(tuples.size());
  for (size_t i = 0; i < tuples.size(); ++i) {
    weighted.rewards.push_back(-tuples[i].loss);
    weighted.log_weights.push_back(log_weight(i));
    weighted.log_propensities.push_back(tuples[i].log_propensity);
    weighted.log_uniform.push_back(LogUniform(task.family, tuples[i]));
    if (!tuples[i].action_shown) ++weighted.shown_otherwise;
  }
  return weighted;
}

absl::StatusOr<LogWeightOf> SoftmaxLogWeight(
    const EvaluationTask& task, std::span<const BanditTuple> tuples) {
  ASSIGN_OR_RETURN(LinearTuplePolicy created,
                   LinearTuplePolicy::Create(task.family, tuples));
  const auto policy = std::make_shared<LinearTuplePolicy>(std::move(created));
  return [policy, parameters = task.parameters](size_t i) {
    return policy->LogWeight(*parameters, i);
  };
}

absl::StatusOr<LogWeightOf> MapLogWeight(const EvaluationTask& task,
                                         std::span<const BanditTuple> tuples) {
  if (tuples.empty()) {
    return [](size_t) { return -std::numeric_limits<double>::infinity(); };
  }
  model::v1::Model model;
  *model.mutable_policy() = PolicyAt(task.family, *task.parameters);
  for (const double weight : WeightsAt(task.family, *task.parameters)) {
    model.add_weights(weight);
  }
  ASSIGN_OR_RETURN(ScoredQueries created,
                   ScoredQueries::Create(model, {tuples}));
  const auto queries = std::make_shared<ScoredQueries>(std::move(created));
  return [queries, tuples, kind = task.family.action_kind](size_t i) {
    return tuples[i].action_shown &&
                   MapPrediction(kind, (*queries)[i]) == tuples[i].action
               ? -tuples[i].log_propensity
               : -std::numeric_limits<double>::infinity();
  };
}

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

void Judge(const Weighted& weighted, double clip, TupleUse use,
           model::v1::Overlap* stored, std::vector<model::v1::Finding>* all) {
  const Overlap overlap =
      MeasureOverlap({.log_weights = weighted.log_weights,
                      .log_propensities = weighted.log_propensities,
                      .log_uniform = weighted.log_uniform,
                      .shown_otherwise = weighted.shown_otherwise,
                      .impossible = weighted.impossible,
                      .clip = clip});
  StoreOverlap(overlap, stored);
  for (Finding& finding : JudgeOverlap(overlap, use)) {
    model::v1::Finding& added = all->emplace_back();
    added.set_gravity(StoredGravity(GravityOf(finding.kind)));
    added.set_part(use == TupleUse::kHeldOut ? "test" : "train");
    added.set_kind(std::string(FindingKindName(finding.kind)));
    added.set_sentence(std::move(finding.sentence));
  }
}

// Of one side of an interval.
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

void AddTheorem3(const EvaluationTask& task, const Weighted& weighted,
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

void AddLogSmoothing(const EvaluationTask& task, const Weighted& validation,
                     const Weighted& test, Evaluation* evaluation) {
  const double lambda =
      ChooseLogSmoothingLambda(validation.Losses(), validation.log_weights,
                               test.rewards.size(), Failure(task));
  const double risk = LogSmoothingRisk::Create(lambda)->Evaluate(
      test.Losses(), test.log_weights, {});
  model::v1::RewardBound bound;
  bound.set_method("log_smoothing");
  bound.set_lambda(lambda);
  AddBound(task,
           LogSmoothingBound(risk, lambda, test.rewards.size(), Failure(task)),
           "test", std::move(bound), evaluation);
}

// The ball of the linear family that the policy was learned in.
LinearFamilyBall BallOf(const EvaluationTask& task, double radius) {
  LinearFamilyBall ball{
      .dimension = static_cast<uint64_t>(task.family.dimension()),
      .radius = radius,
      .feature_norm = task.family.can_abstain ? 1.0 : 0.0};
  double longest = 0;  // ‖x‖²
  for (const BanditTuple& tuple : task.train) {
    const size_t rows = tuple.candidates().num_candidates();
    for (size_t row = 0; row < rows; ++row) {
      const size_t begin = tuple.row_offsets.empty() ? row * tuple.num_features
                                                     : tuple.row_offsets[row];
      const size_t end = tuple.row_offsets.empty() ? begin + tuple.num_features
                                                   : tuple.row_offsets[row + 1];
      double squares = 0;
      for (size_t j = begin; j < end; ++j) {
        squares += static_cast<double>(tuple.values[j]) * tuple.values[j];
      }
      longest = std::fmax(longest, squares);
    }
    ball.ranks = std::max<uint64_t>(ball.ranks, tuple.action.size());
  }
  ball.feature_norm = std::fmax(ball.feature_norm, std::sqrt(longest));
  return ball;
}

void AddBounds(const EvaluationTask& task, const Weighted& train,
               const Weighted& validation, const Weighted& test,
               Evaluation* evaluation) {
  AddLogSmoothing(task, validation, test, evaluation);
  if (task.num_policies > 0) {
    AddTheorem3(task, validation,
                std::log(static_cast<double>(task.num_policies)), Failure(task),
                "validation", evaluation);
  }
  if (!task.train.empty()) {
    const RadiusShare radius = ChooseRadius(task.parameters->norm());
    AddTheorem3(
        task, train,
        LinearFamilyLogCapacity(BallOf(task, radius.radius), task.train.size()),
        radius.share * Failure(task), "train", evaluation);
  }
}

// Estimates on `test`, overlap and findings.
void AddEstimates(const EvaluationTask& task, const Weighted& validation,
                  const Weighted& test, Evaluation* evaluation) {
  const double clip =
      ChooseEvaluationClip(validation.rewards, validation.log_weights,
                           test.rewards.size(), task.confidence);
  OffPolicyEstimator estimator(clip);
  for (size_t i = 0; i < test.rewards.size(); ++i) {
    estimator.Add(test.rewards[i], test.log_weights[i]);
  }
  const OffPolicyEstimates estimates = estimator.Estimate(task.confidence);
  Store(estimates.logging, task.reward_min, task,
        evaluation->mutable_logging_reward());
  Store(estimates.ips, task.reward_min, task, evaluation->mutable_ips_reward());
  Store(estimates.snips, task.reward_min, task,
        evaluation->mutable_snips_reward());
  Store(estimates.improvement, 0, task, evaluation->mutable_improvement());
  evaluation->set_effective_sample_size(estimates.effective_sample_size);
  evaluation->set_clipped_fraction(estimates.clipped_fraction);
  evaluation->set_clip(clip);
  evaluation->set_validation_tuples(task.validation.size());
  evaluation->set_test_tuples(task.test.size());
}

void AddFindings(const EvaluationTask& task, const Weighted& train,
                 const Weighted& test, Evaluation* evaluation) {
  std::vector<model::v1::Finding> findings;
  Judge(test, evaluation->clip(), TupleUse::kHeldOut,
        evaluation->mutable_test_overlap(), &findings);
  if (!task.train.empty()) {
    Judge(train, task.train_clip, TupleUse::kTraining,
          evaluation->mutable_train_overlap(), &findings);
  }
  // What concerns the estimates before what concerns the learning.
  std::stable_sort(
      findings.begin(), findings.end(),
      [](const auto& a, const auto& b) { return a.gravity() > b.gravity(); });
  for (auto& finding : findings) {
    *evaluation->add_findings() = std::move(finding);
  }
}

}  // namespace

absl::StatusOr<Evaluation> EvaluatePolicy(const EvaluationTask& task) {
  ASSIGN_OR_RETURN(Weighted train, Weigh(task, task.train, SoftmaxLogWeight));
  ASSIGN_OR_RETURN(const Weighted validation,
                   Weigh(task, task.validation, SoftmaxLogWeight));
  ASSIGN_OR_RETURN(Weighted test, Weigh(task, task.test, SoftmaxLogWeight));
  train.impossible = task.impossible_train;
  test.impossible = task.impossible_test;
  Evaluation evaluation;
  AddEstimates(task, validation, test, &evaluation);
  AddFindings(task, train, test, &evaluation);
  AddBounds(task, train, validation, test, &evaluation);
  return evaluation;
}

absl::StatusOr<Evaluation> EvaluateMap(const EvaluationTask& task) {
  ASSIGN_OR_RETURN(const Weighted validation,
                   Weigh(task, task.validation, MapLogWeight));
  ASSIGN_OR_RETURN(const Weighted test, Weigh(task, task.test, MapLogWeight));
  Evaluation evaluation;
  AddEstimates(task, validation, test, &evaluation);
  EvaluationTask held_out = task;
  held_out.train = {};
  AddFindings(held_out, {}, test, &evaluation);
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
