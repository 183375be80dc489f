#include "core/learners/grid_learner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/learners/game_queries.h"
#include "core/learners/rank_policy.h"

namespace sortition {
namespace {

constexpr uint32_t kMostRelevant = 31;  // As labels are read.

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

}  // namespace

absl::StatusOr<double> GridLearner::Validate(const LabelledTask& task,
                                             const GridFit& fit) const {
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

absl::StatusOr<LabelledResult> GridLearner::Train(
    const LabelledTask& task) const {
  RETURN_IF_ERROR(CheckParts(task));
  ASSIGN_OR_RETURN(const std::vector<GridPoint> grid, spec_.points(task));
  CHECK(grid.size() == spec_.num_points);
  LabelledResult result;
  for (size_t p = 0; p < grid.size(); ++p) {
    const auto on_step = [&] {
      if (task.on_step) task.on_step(p);
    };
    ASSIGN_OR_RETURN(GridFit fit, grid[p].fit(task, on_step));
    for (const double weight : fit.weights) {
      if (!std::isfinite(weight)) {
        return absl::InternalError(absl::StrCat("a weight of lambda ",
                                                grid[p].lambda, " is ", weight,
                                                ", must be finite"));
      }
    }
    ASSIGN_OR_RETURN(const double validation, Validate(task, fit));
    result.points.push_back({.lambda = grid[p].lambda,
                             .objective = fit.objective,
                             .dual_bound = fit.dual_bound,
                             .passes = fit.passes,
                             .validation = validation,
                             .setting = grid[p].setting,
                             .termination = fit.termination});
    if (p == 0 || IsBetter(result.points[p], result.points[result.chosen])) {
      result.chosen = p;
      result.weights = std::move(fit.weights);
      result.transitions = std::move(fit.transitions);
      result.standard_errors = std::move(fit.standard_errors);
    }
  }
  return result;
}

absl::StatusOr<model::v1::Policy> GridLearner::MakePolicy(
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
