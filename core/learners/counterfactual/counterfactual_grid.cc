#include "core/learners/counterfactual/counterfactual_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/estimators.h"
#include "core/counterfactual/findings.h"
#include "core/counterfactual/tuple_terms.h"
#include "core/learners/counterfactual/counterfactual_learner.h"
#include "core/learners/counterfactual/poem_options.h"
#include "core/learners/counterfactual/weighted_tuples.h"

namespace sortition {
namespace {

using config::v1::PoemOptions;
using model::v1::Evaluation;

enum class Start { kZero, kParent, kPrior };

struct Point {
  double smoothing = 1;  // β
  LambdaChoice lambda = {};
  double l2 = 0;
  Start start = Start::kZero;
  bool is_trained = true;
};

// The state that the points share.
struct Grid {
  const GridTask& task;
  double clip = 1;  // M
  std::vector<Point> points = {};
  Eigen::VectorXd scales = {};                // Of the parameters; empty: 1.
  GridData::LossModelCopies loss_model = {};  // Empty: no loss model.
  MakeGridRisk make_risk = {};  // Empty: that of the weighted losses.
};

// Estimates of a policy on the validation tuples.
struct Validation {
  // Eq. 1 in rewards: the mean of r ρ, unbiased, with the interval of clipped
  // IPS.
  Interval reward;
  Interval improvement;
  double estimate = 0;  // Self-normalised, in rewards: the best single guess.
  double lower = 0;     // Lower bound of the clipped mean, at its best clip.
  double effective_sample_size = 0;
  bool moved = false;  // Chooses otherwise than what logged.
  MeanWeight weight;
  bool misses_support = false;
  bool leaves_log = false;  // The same; SELF_NORMALISED only.
};

// Whether a policy chooses otherwise than the one that logged. Logs round
// propensities. Actions that nobody saw weigh nothing under any policy.
bool Moved(std::span<const double> log_weights) {
  constexpr double kRounding = 0.01;
  return std::any_of(log_weights.begin(), log_weights.end(), [](double weight) {
    return std::isfinite(weight) && std::fabs(weight) > kRounding;
  });
}

struct PointResult {
  absl::Status status;
  CounterfactualResult learned;
  Validation validation;
};

// Where the trained points start.
std::vector<Start> ListStarts(const GridTask& task) {
  const auto start = task.options.start();
  const bool has_parent = task.parent_start.size() > 0;
  const bool has_prior = task.prior.size() > 0;
  std::vector<Start> starts;
  if (start != PoemOptions::PARENT || !(has_parent || has_prior)) {
    starts.push_back(Start::kZero);
  }
  if (start == PoemOptions::ZERO) return starts;
  if (has_parent) starts.push_back(Start::kParent);
  if (has_prior) starts.push_back(Start::kPrior);
  return starts;
}

absl::StatusOr<std::vector<Point>> ListPoints(const GridTask& task,
                                              const TuplePolicy& policy) {
  std::vector<Point> points;
  if (task.parent_start.size() > 0) {
    points.push_back({.start = Start::kParent, .is_trained = false});
  }
  const std::vector<double> l2s = ListL2s(task.options, policy);
  for (const Start start : ListStarts(task)) {
    for (const double smoothing : ListSmoothings(task.options)) {
      ASSIGN_OR_RETURN(const auto lambdas,
                       ListLambdas(task.options, policy, smoothing));
      for (const LambdaChoice& lambda : lambdas) {
        for (const double l2 : l2s) {
          points.push_back({smoothing, lambda, l2, start});
        }
      }
    }
  }
  return points;
}

// Returns where the point starts; empty: 0.
Eigen::VectorXd StartOf(const GridTask& task, const Point& point) {
  switch (point.start) {
    case Start::kZero:
      return {};
    case Start::kParent:
      return task.parent_start;
    case Start::kPrior:
      return task.prior;
  }
  return {};
}

std::string StartName(Start start) {
  switch (start) {
    case Start::kZero:
      return "zero";
    case Start::kParent:
      return "parent";
    case Start::kPrior:
      return "prior";
  }
  return "";
}

absl::StatusOr<Grid> MakeGrid(const GridTask& task) {
  RETURN_IF_ERROR(ValidatePoemOptions(task.options));
  ASSIGN_OR_RETURN(const auto policy, task.data->TrainPolicy());
  if (policy->num_tuples() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("training tuples: there are ", policy->num_tuples(),
                     ", must be at least 2"));
  }
  Grid grid{.task = task, .clip = ClipOf(task.options, *policy)};
  ASSIGN_OR_RETURN(grid.points, ListPoints(task, *policy));
  if (task.options.standardise()) grid.scales = task.data->FeatureScales();
  ASSIGN_OR_RETURN(grid.make_risk, task.data->PrepareRisk(task.options));
  if (task.options.objective() == PoemOptions::DOUBLY_ROBUST &&
      !grid.make_risk) {
    ASSIGN_OR_RETURN(
        grid.loss_model,
        task.data->FitLossModel({.l2 = task.options.loss_model_l2(),
                                 .folds = task.options.loss_model_folds(),
                                 .scales = grid.scales}));
  }
  return grid;
}

absl::StatusOr<Validation> Validate(const GridTask& task,
                                    const Eigen::VectorXd& parameters) {
  // Used only to compare points. The clip was chosen on the same tuples, so
  // this confidence level does not hold and is not claimed.
  constexpr double kConfidence = 0.95;
  ASSIGN_OR_RETURN(const auto policy, task.data->ValidationPolicy());
  std::vector<double> log_weights = LogWeights(parameters, policy.get());
  std::vector<double> rewards = Rewards(*policy);
  std::vector<double> counts = WeightsOf(*policy);
  for (const double reward : task.data->UnreachableRewards()) {
    log_weights.push_back(-std::numeric_limits<double>::infinity());
    rewards.push_back(reward);
    if (!counts.empty()) counts.push_back(1);
  }
  const auto size = static_cast<uint64_t>(
      counts.empty() ? static_cast<double>(rewards.size())
                     : std::accumulate(counts.begin(), counts.end(), 0.0));
  OffPolicyEstimator estimator(
      ChooseEvaluationClip(rewards, log_weights, size, kConfidence, counts));
  for (size_t i = 0; i < rewards.size(); ++i) {
    estimator.Add(rewards[i], log_weights[i], counts.empty() ? 1 : counts[i]);
  }
  // These bounds hold for every clip that could have been chosen.
  const OffPolicyEstimates estimates =
      estimator.Estimate(1 - (1 - task.confidence) / kNumEvaluationClips);
  const MeanWeight weight = MeanWeightOf(log_weights, counts);
  const bool misses_support = MissesSupport(weight, size, 1);
  return Validation{
      .reward = {estimates.unclipped_ips, estimates.ips.lower,
                 estimates.ips.upper},
      .improvement = estimates.improvement,
      .estimate = estimates.snips.value,
      .lower = estimator.Estimate(kConfidence).improvement.lower,
      .effective_sample_size = estimates.effective_sample_size,
      .moved = Moved(log_weights),
      .weight = weight,
      .misses_support = misses_support,
      .leaves_log = misses_support &&
                    task.options.objective() == PoemOptions::SELF_NORMALISED};
}

uint32_t MaxRounds(const PoemOptions& options) {
  return options.optimiser() == PoemOptions::BATCH
             ? options.lbfgs().max_iterations()
             : options.adagrad().max_epochs();
}

absl::StatusOr<CounterfactualResult> Learn(const Grid& grid, const Point& point,
                                           const ReportSteps& report) {
  const GridTask& task = grid.task;
  if (!point.is_trained) {
    return CounterfactualResult{.parameters = task.parent_start,
                                .termination = kNotTrained};
  }
  ASSIGN_OR_RETURN(const auto policy, task.data->TrainPolicy());
  const std::unique_ptr<LossModel> model =
      grid.loss_model ? grid.loss_model() : nullptr;
  CounterfactualRun run{
      .options = task.options,
      .clip = grid.clip,
      .lambda = point.lambda.lambda,
      .smoothing = point.smoothing,
      .l2 = point.l2,
      .start = StartOf(task, point),
      .prior = task.prior.size() > 0 ? task.prior : task.parent_start,
      .scales = grid.scales};
  std::unique_ptr<GridRisk> risk;
  if (grid.make_risk) {
    ASSIGN_OR_RETURN(risk, grid.make_risk(run.clip, run.lambda));
    run.risk = risk.get();
  }
  run.on_round = [&report](uint32_t) { report(1); };
  return TrainCounterfactual(policy.get(), model.get(), run);
}

PointResult TrainPoint(const Grid& grid, const Point& point,
                       const ReportSteps& report) {
  PointResult result;
  const GridTask& task = grid.task;
  const auto train = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(result.learned, Learn(grid, point, report));
    ASSIGN_OR_RETURN(result.validation,
                     Validate(task, result.learned.parameters));
    return absl::OkStatus();
  };
  result.status = train();
  // Rounds that early stopping saved count as done.
  const uint32_t max_rounds = MaxRounds(task.options);
  const uint32_t rounds = result.learned.epochs + result.learned.iterations;
  report(max_rounds - std::min(max_rounds, rounds));
  return result;
}

std::vector<PointResult> TrainAll(const Grid& grid) {
  const PoemOptions& options = grid.task.options;
  const ReportSteps report = grid.task.start_progress(
      "training",
      options.optimiser() == PoemOptions::BATCH ? "iterations" : "epochs",
      grid.points.size() * MaxRounds(options));
  std::vector<PointResult> results(grid.points.size());
  grid.task.parallel(results.size(), [&](size_t i) {
    results[i] = TrainPoint(grid, grid.points[i], report);
  });
  return results;
}

void SetEstimate(const Interval& interval, double confidence,
                 model::v1::Estimate* estimate) {
  estimate->set_value(interval.value);
  estimate->set_lower(interval.lower);
  estimate->set_upper(interval.upper);
  estimate->set_confidence(confidence);
}

Evaluation::GridPoint Describe(const GridTask& task, const Point& point,
                               const PointResult& result) {
  const PoemOptions& options = task.options;
  Evaluation::GridPoint row;
  row.set_objective(PoemOptions::Objective_Name(options.objective()));
  row.set_optimiser(PoemOptions::Optimiser_Name(options.optimiser()));
  if (point.lambda.factor) row.set_lambda_factor(*point.lambda.factor);
  row.set_lambda(point.lambda.lambda);
  row.set_l2(point.l2);
  if (point.smoothing != 1) row.set_smoothing(point.smoothing);
  row.set_start(StartName(point.start));
  row.set_epochs(result.learned.epochs);
  row.set_iterations(result.learned.iterations);
  row.set_train_objective(result.learned.objective);
  row.set_validation_reward(result.validation.reward.value);
  row.set_validation_lower(result.validation.lower);
  row.set_effective_sample_size(result.validation.effective_sample_size);
  row.set_termination(result.status.ok() ? result.learned.termination
                                         : "diverged");
  if (result.status.ok()) {
    SetEstimate(result.validation.reward, task.confidence,
                row.mutable_validation_estimate());
    SetEstimate(result.validation.improvement, task.confidence,
                row.mutable_validation_improvement());
  }
  return row;
}

// Maps every x in the estimate to offset + range x.
void Rescale(double offset, double range, model::v1::Estimate* estimate) {
  estimate->set_value(offset + range * estimate->value());
  estimate->set_lower(offset + range * estimate->lower());
  estimate->set_upper(offset + range * estimate->upper());
}

// Whether a trained point is to be preferred to another. The unbiased estimate
// alone would favour points with a few huge weights. The lower bound is the
// criterion of CRM, applied to validation. It is 0 for a policy that does what
// the log did, and below 0 for all others until there are very many tuples; so
// such a policy does not compete.
bool IsBetter(const Validation& one, const Validation& other) {
  if (one.leaves_log != other.leaves_log) return other.leaves_log;
  if (one.moved != other.moved) return one.moved;
  return one.lower > other.lower;
}

// `stays`: nothing that the log does not support replaces the parent.
absl::StatusOr<GridOutcome> TrainPoints(const GridTask& task, bool stays) {
  ASSIGN_OR_RETURN(const Grid grid, MakeGrid(task));
  std::vector<PointResult> results = TrainAll(grid);
  GridOutcome outcome{.clip = grid.clip};
  std::optional<size_t> chosen;
  absl::Status diverged = absl::InternalError("no point is finite");
  bool any_trained = false;
  for (size_t i = 0; i < results.size(); ++i) {
    const PointResult& result = results[i];
    if (!absl::IsInternal(result.status)) RETURN_IF_ERROR(result.status);
    if (!result.status.ok()) diverged = result.status;
    any_trained |= grid.points[i].is_trained && result.status.ok();
    outcome.points.push_back(Describe(task, grid.points[i], result));
    if (grid.points[i].is_trained && result.status.ok() &&
        (!chosen || IsBetter(result.validation, results[*chosen].validation))) {
      chosen = i;
    }
  }
  if (!any_trained) return diverged;
  if (!chosen) {
    return absl::InternalError("validation is finite at no grid point");
  }
  if (results[*chosen].validation.leaves_log) {
    outcome.left_log = results[*chosen].validation.weight;
  }
  // Whether what is estimated is certain is for the gate to say, whose bound is
  // tighter. The parent is the first point.
  if (!grid.points[0].is_trained && results[0].status.ok() &&
      ((stays && results[*chosen].validation.misses_support) ||
       !(results[*chosen].validation.estimate >
         results[0].validation.estimate))) {
    chosen = 0;
    outcome.keeps_parent = true;
  }
  outcome.moved = results[*chosen].validation.moved;
  outcome.points[*chosen].set_chosen(true);
  outcome.parameters = std::move(results[*chosen].learned.parameters);
  return outcome;
}

}  // namespace

Evaluation::GridPoint InRewardUnits(Evaluation::GridPoint point,
                                    double reward_min, double reward_max) {
  const double range = reward_max - reward_min;
  point.set_validation_reward(reward_min + range * point.validation_reward());
  if (point.has_validation_estimate()) {
    Rescale(reward_min, range, point.mutable_validation_estimate());
    Rescale(0, range, point.mutable_validation_improvement());
  }
  return point;
}

absl::StatusOr<GridOutcome> TrainGrid(const GridTask& task) {
  ASSIGN_OR_RETURN(GridOutcome outcome, TrainPoints(task, false));
  if (!outcome.left_log.has_value()) return outcome;
  GridTask instead = task;
  instead.options.set_objective(PoemOptions::CRM);
  instead.options.clear_lambda();
  instead.options.clear_lambda_factor();
  ASSIGN_OR_RETURN(GridOutcome kept, TrainPoints(instead, true));
  kept.left_log = outcome.left_log;
  for (Evaluation::GridPoint& point : outcome.points) {
    if (point.termination() == kNotTrained) continue;
    point.set_chosen(false);
    kept.points.push_back(std::move(point));
  }
  return kept;
}

}  // namespace sortition
