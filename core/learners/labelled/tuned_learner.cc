#include "core/learners/labelled/tuned_learner.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/data/labelled_items.h"
#include "core/data/labelled_queries.h"
#include "core/learners/labelled/rank_policy.h"

namespace sortition {
namespace {

constexpr uint32_t kMostRelevant = 31;  // Limit of the label reader.

absl::string_view ActionName(ActionKind kind) {
  switch (kind) {
    case ActionKind::kSelect:
      return "select";
    case ActionKind::kRank:
      return "rank";
    case ActionKind::kSubset:
      break;
  }
  return "label";
}

bool IsBetter(const LabelledPoint& a, const LabelledPoint& b) {
  return a.validation != b.validation ? a.validation > b.validation
                                      : a.lambda > b.lambda;
}

// Returns the mean of MeasureByScore() for the scores of `fit`.
double MeanOfScores(const LabelMeasure& measure,
                    std::span<const LabelledItems> queries,
                    const PointFit& fit) {
  double sum = 0;
  std::vector<double> scores;
  for (const LabelledItems& query : queries) {
    scores.resize(query.relevances.size());
    fit.score(query.items, scores);
    sum += MeasureByScore(measure, query.relevances, scores);
  }
  return sum / static_cast<double>(queries.size());
}

std::string SettingOf(const TuningPoint& point, const LabelledTask& task) {
  if (task.trusted_orders == nullptr) return point.setting;
  return absl::StrCat(point.setting, point.setting.empty() ? "" : ", ",
                      "trusted order weight ", task.trusted_weights[0]);
}

}  // namespace

absl::Status CheckParts(const LabelledTask& task) {
  RETURN_IF_ERROR(CheckQueries(task.training));
  if (const absl::Status status = CheckQueries(task.validation); !status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("validation: ", status.message()));
  }
  const uint32_t features = task.training[0].items.num_features();
  if (task.validation[0].items.num_features() != features) {
    return absl::InvalidArgumentError(absl::StrCat(
        "validation queries have ", task.validation[0].items.num_features(),
        " features, must have ", features, ", as the training queries"));
  }
  return absl::OkStatus();
}

absl::Status CheckTrusted(const LabelledLearner& learner,
                          const LabelledTask& task) {
  if (task.trusted_orders == nullptr) return absl::OkStatus();
  if (!learner.trusts_orders()) {
    return absl::InvalidArgumentError(
        "there are trusted orders, must be none: this learner cannot be pulled "
        "towards them");
  }
  if (task.trusted_orders->num_queries() != task.training.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", task.trusted_orders->num_queries(),
                     " trusted orders for ", task.training.size(),
                     " training queries, must be one each"));
  }
  if (task.trusted_weights.empty()) {
    return absl::InvalidArgumentError(
        "trusted orders have 0 weights, must have at least 1");
  }
  for (const double weight : task.trusted_weights) {
    if (weight >= 0 && weight < HUGE_VAL) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("weight of trusted orders is ", weight,
                     ", must be at least 0 and finite"));
  }
  return absl::OkStatus();
}

std::vector<TuningPoint> PointsAt(const std::vector<double>& lambdas,
                                  const FitAtLambda& fit) {
  std::vector<TuningPoint> points;
  for (const double lambda : lambdas) {
    points.push_back(
        {.lambda = lambda,
         .fit = [=](const LabelledTask& task, const auto& on_step) {
           return fit(task, lambda, on_step);
         }});
  }
  return points;
}

OrderPull PullOf(const LabelledTask& task) {
  if (task.trusted_orders == nullptr || !(task.trusted_weights[0] > 0)) {
    return {};
  }
  return {task.trusted_orders, task.trusted_weights[0]};
}

absl::StatusOr<double> TunedLearner::Validate(const LabelledTask& task,
                                              const PointFit& fit) const {
  if (!spec_.validate && fit.score) {
    return MeanOfScores(spec_.measure, task.validation, fit);
  }
  if (!spec_.validate) {
    return MeanByScore(spec_.measure, task.validation, fit.weights);
  }
  double sum = 0;
  for (const LabelledItems& query : task.validation) {
    ASSIGN_OR_RETURN(const double value, spec_.validate(query, fit));
    sum += value;
  }
  return sum / static_cast<double>(task.validation.size());
}

absl::StatusOr<LabelledResult> TunedLearner::Train(
    const LabelledTask& task) const {
  RETURN_IF_ERROR(CheckParts(task));
  RETURN_IF_ERROR(CheckTrusted(*this, task));
  std::optional<ScaledTask> scaled;
  if (spec_.scales_features) scaled.emplace(task);
  const ScaledTask* const used = scaled.has_value() ? &*scaled : nullptr;
  LabelledResult result;
  if (task.trusted_orders == nullptr) {
    RETURN_IF_ERROR(TrainPoints(task, used, &result));
    return result;
  }
  std::vector<double> weights = task.trusted_weights;
  std::sort(weights.begin(), weights.end());
  for (const double weight : weights) {
    LabelledTask pulled = task;
    pulled.trusted_weights = {weight};
    RETURN_IF_ERROR(TrainPoints(pulled, used, &result));
  }
  return result;
}

absl::Status TunedLearner::TrainPoints(const LabelledTask& task,
                                       const ScaledTask* scaled,
                                       LabelledResult* result) const {
  LabelledTask fitted = scaled == nullptr ? task : scaled->task();
  fitted.trusted_weights = task.trusted_weights;
  ASSIGN_OR_RETURN(const std::vector<TuningPoint> points, spec_.points(fitted));
  CHECK(points.size() <= spec_.num_points);
  for (const TuningPoint& of : points) {
    const size_t p = result->points.size();
    const auto on_step = [&] {
      if (task.on_step) task.on_step(p);
    };
    ASSIGN_OR_RETURN(PointFit fit, of.fit(fitted, on_step));
    if (scaled != nullptr) {
      const size_t consecutive = spec_.weights_per_feature;
      scaled->scale().ToOriginalUnits(consecutive, fit.weights);
      scaled->scale().ToOriginalUnits(consecutive, fit.standard_errors);
    }
    for (const double weight : fit.weights) {
      if (!std::isfinite(weight)) {
        return absl::InternalError(absl::StrCat("a weight of lambda ",
                                                of.lambda, " is ", weight,
                                                ", must be finite"));
      }
    }
    LabelledPoint point{.lambda = of.lambda,
                        .objective = fit.objective,
                        .dual_bound = fit.dual_bound,
                        .gap_tolerance = fit.gap_tolerance,
                        .passes = fit.passes,
                        .setting = SettingOf(of, task),
                        .termination = fit.termination};
    ASSIGN_OR_RETURN(point.validation, Validate(task, fit));
    if (task.trusted_orders != nullptr) {
      point.from_trusted = task.trusted_orders->Measure(fit.weights);
    }
    result->points.push_back(std::move(point));
    if (p == 0 || IsBetter(result->points[p], result->points[result->chosen])) {
      result->chosen = p;
      result->weights = std::move(fit.weights);
      result->trees = std::move(fit.trees);
      result->transitions = std::move(fit.transitions);
      result->standard_errors = std::move(fit.standard_errors);
      result->note = std::move(fit.note);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<model::v1::Policy> TunedLearner::MakePolicy(
    const LabelledPolicyTask& task) const {
  const auto& actions = spec_.actions;
  if (std::find(actions.begin(), actions.end(), task.action_kind) ==
      actions.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "action is ", ActionName(task.action_kind), ", must be ",
        absl::StrJoin(actions, " or ", [](std::string* out, ActionKind kind) {
          absl::StrAppend(out, ActionName(kind));
        })));
  }
  return spec_.make_policy ? spec_.make_policy(task) : MakeRankPolicy(task);
}

absl::StatusOr<LabelMeasure> OrderMeasure(const LabelledShape& shape,
                                          uint32_t k) {
  if (shape.max_relevance > kMostRelevant) {
    return absl::InvalidArgumentError(
        absl::StrCat("the largest relevance is ", shape.max_relevance,
                     ", must be at most ", kMostRelevant));
  }
  return LabelMeasure{.kind = LabelMeasure::Kind::kDcg,
                      .k = k,
                      .gains = GradedGains(shape.max_relevance)};
}

absl::StatusOr<LabelMeasure> LinearOrderMeasure(const LabelledShape& shape) {
  ASSIGN_OR_RETURN(LabelMeasure measure, OrderMeasure(shape, 0));
  for (size_t l = 1; l < measure.gains.size(); ++l) {
    measure.gains[l] =
        static_cast<double>(l) / static_cast<double>(shape.max_relevance);
  }
  return measure;
}

}  // namespace sortition
