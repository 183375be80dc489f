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
#include "core/learners/counterfactual/policy_choice.h"
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
  PoemOptions::Optimiser optimiser = PoemOptions::STOCHASTIC;
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
  // Log weights of the parent on the validation tuples; empty: no parent.
  std::vector<double> parent_log_weights = {};
  MakeGridRisk make_validation_risk = {};  // Empty: there is none.
  // Terms of the parent under that risk, or of what logged if there is no
  // parent.
  std::vector<double> other_terms = {};
};

// Estimates of a policy on the validation tuples.
struct Validation {
  // Eq. 1 in rewards: the mean of r ρ, unbiased, with the interval of clipped
  // IPS.
  Interval reward;
  Interval improvement;
  Gain gain;  // Over the parent, or over the log if there is no parent.
  double effective_sample_size = 0;
  bool moved = false;    // Differs from the logging policy.
  bool differs = false;  // Differs from the parent, if there is one.
  bool misses_support = false;
  // False if the log lacks support for the estimate. Always true if the data
  // have their own risk: weights of whole orders do not apply to risks by rank.
  bool is_supported = true;
  bool gains = false;  // The gain is above 0.
};

// Returns true if a policy differs from another one, or from the logging policy
// if `other` is empty. Small differences are ignored, because logs round
// propensities. Tuples whose action was not shown have weight 0 under any
// policy.
bool Differs(std::span<const double> log_weights,
             std::span<const double> other) {
  constexpr double kRounding = 0.01;
  for (size_t i = 0; i < log_weights.size(); ++i) {
    const double difference = log_weights[i] - (other.empty() ? 0 : other[i]);
    if (std::isfinite(difference) && std::fabs(difference) > kRounding) {
      return true;
    }
  }
  return false;
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

std::vector<PoemOptions::Optimiser> ListOptimisers(const PoemOptions& options) {
  if (options.optimiser() != PoemOptions::TRY_BOTH)
    return {options.optimiser()};
  return {PoemOptions::STOCHASTIC, PoemOptions::BATCH};
}

absl::StatusOr<std::vector<Point>> ListPoints(const GridTask& task,
                                              const TuplePolicy& policy) {
  std::vector<Point> points;
  const auto optimisers = ListOptimisers(task.options);
  if (task.parent_start.size() > 0) {
    points.push_back({.optimiser = optimisers.back(),
                      .start = Start::kParent,
                      .is_trained = false});
  }
  const std::vector<double> l2s = ListL2s(task.options, policy);
  for (const Start start : ListStarts(task)) {
    for (const double smoothing : ListSmoothings(task.options)) {
      ASSIGN_OR_RETURN(const auto lambdas,
                       ListLambdas(task.options, policy, smoothing));
      for (const LambdaChoice& lambda : lambdas) {
        for (const double l2 : l2s) {
          for (const auto optimiser : optimisers) {
            points.push_back({smoothing, lambda, l2, optimiser, start});
          }
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

// The validation tuples, followed by UnreachableRewards() with weight 0.
struct ValidationSample {
  std::vector<double> log_weights;
  std::vector<double> rewards;
  std::vector<double> counts;   // Empty: 1.
  std::vector<uint64_t> units;  // Empty: not known.
};

// Empty if they are not known.
std::vector<uint64_t> UnitsOf(const TuplePolicy& policy) {
  std::vector<uint64_t> units;
  for (size_t i = 0; i < policy.num_tuples(); ++i) {
    const std::optional<uint64_t> unit = policy.unit(i);
    if (!unit.has_value()) return {};
    units.push_back(*unit);
  }
  return units;
}

absl::StatusOr<ValidationSample> SampleOf(const GridTask& task,
                                          const Eigen::VectorXd& parameters) {
  ASSIGN_OR_RETURN(const auto policy, task.data->ValidationPolicy());
  ValidationSample sample{.log_weights = LogWeights(parameters, policy.get()),
                          .rewards = Rewards(*policy),
                          .counts = WeightsOf(*policy),
                          .units = UnitsOf(*policy)};
  // Each of the rewards below is a unit of its own.
  uint64_t unit = std::numeric_limits<uint64_t>::max();
  for (const double reward : task.data->UnreachableRewards()) {
    sample.log_weights.push_back(-std::numeric_limits<double>::infinity());
    sample.rewards.push_back(reward);
    if (!sample.counts.empty()) sample.counts.push_back(1);
    if (!sample.units.empty()) sample.units.push_back(unit--);
  }
  return sample;
}

// Returns the terms of the policy with `parameters` under the validation risk.
absl::StatusOr<std::vector<double>> ValidationTerms(
    const Grid& grid, const Eigen::VectorXd& parameters) {
  ASSIGN_OR_RETURN(
      const std::unique_ptr<GridRisk> risk,
      grid.make_validation_risk(std::numeric_limits<double>::infinity(), 0));
  return AllValues(parameters, risk->terms());
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
  if (task.parent_start.size() > 0) {
    ASSIGN_OR_RETURN(ValidationSample parent,
                     SampleOf(task, task.parent_start));
    grid.parent_log_weights = std::move(parent.log_weights);
  }
  ASSIGN_OR_RETURN(grid.make_risk, task.data->PrepareRisk(task.options));
  ASSIGN_OR_RETURN(ValidationRisk validation,
                   task.data->PrepareValidationRisk(task.options));
  grid.make_validation_risk = std::move(validation.make);
  grid.other_terms = std::move(validation.logged_terms);
  if (grid.make_validation_risk && task.parent_start.size() > 0) {
    ASSIGN_OR_RETURN(grid.other_terms,
                     ValidationTerms(grid, task.parent_start));
  }
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

absl::StatusOr<Validation> Validate(const Grid& grid,
                                    const Eigen::VectorXd& parameters) {
  // The clip was chosen on the same tuples, so this confidence level does not
  // hold and is not claimed.
  constexpr double kConfidence = 0.95;
  ASSIGN_OR_RETURN(const ValidationSample sample,
                   SampleOf(grid.task, parameters));
  const auto& [log_weights, rewards, counts, units] = sample;
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
      estimator.Estimate(1 - (1 - grid.task.confidence) / kNumEvaluationClips);
  Gain gain = SelfNormalisedGain({.rewards = rewards,
                                  .log_weights = log_weights,
                                  .other_log_weights = grid.parent_log_weights,
                                  .counts = counts,
                                  .units = units});
  const bool misses_support =
      !grid.make_risk && MissesSupport(gain.weight, size, 1);
  if (grid.make_validation_risk) {
    ASSIGN_OR_RETURN(const std::vector<double> terms,
                     ValidationTerms(grid, parameters));
    gain = GainOfTerms({terms, grid.other_terms, counts, units}, gain);
  }
  return Validation{
      .reward = {estimates.unclipped_ips, estimates.ips.lower,
                 estimates.ips.upper},
      .improvement = estimates.improvement,
      .gain = gain,
      .effective_sample_size = estimates.effective_sample_size,
      .moved = Differs(log_weights, {}),
      .differs = Differs(log_weights, grid.parent_log_weights),
      .misses_support = misses_support,
      .is_supported =
          grid.make_risk || (!misses_support && gain.has_standard_error()),
      .gains = (grid.make_risk ? gain.of_supported : gain.value) > 0};
}

uint32_t MaxRounds(const PoemOptions& options, const Point& point) {
  return point.optimiser == PoemOptions::BATCH
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
  run.options.set_optimiser(point.optimiser);
  run.on_round = [&report](uint32_t) { report(1); };
  return TrainCounterfactual(policy.get(), model.get(), run);
}

PointResult TrainPoint(const Grid& grid, const Point& point,
                       const ReportSteps& report) {
  PointResult result;
  const auto train = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(result.learned, Learn(grid, point, report));
    ASSIGN_OR_RETURN(result.validation,
                     Validate(grid, result.learned.parameters));
    return absl::OkStatus();
  };
  result.status = train();
  // Rounds that early stopping saved count as done.
  const uint32_t max_rounds = MaxRounds(grid.task.options, point);
  const uint32_t rounds = result.learned.epochs + result.learned.iterations;
  report(max_rounds - std::min(max_rounds, rounds));
  return result;
}

std::vector<PointResult> TrainAll(const Grid& grid) {
  const PoemOptions& options = grid.task.options;
  size_t max_rounds = 0;
  for (const Point& point : grid.points)
    max_rounds += MaxRounds(options, point);
  const ReportSteps report = grid.task.start_progress(
      "training",
      options.optimiser() == PoemOptions::STOCHASTIC ? "epochs" : "iterations",
      max_rounds);
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
  row.set_optimiser(PoemOptions::Optimiser_Name(point.optimiser));
  if (point.lambda.factor) row.set_lambda_factor(*point.lambda.factor);
  row.set_lambda(point.lambda.lambda);
  row.set_l2(point.l2);
  if (point.smoothing != 1) row.set_smoothing(point.smoothing);
  row.set_start(StartName(point.start));
  row.set_epochs(result.learned.epochs);
  row.set_iterations(result.learned.iterations);
  row.set_train_objective(result.learned.objective);
  row.set_validation_reward(result.validation.reward.value);
  row.set_validation_lower(result.validation.gain.criterion());
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

// Returns true if the point differs from the parent, the log supports it, and
// its estimated gain is above 0: over the parent, or over the log if there is
// no parent. The gate later decides whether the gain is significant.
bool Passes(const Validation& validation) {
  return validation.differs && validation.is_supported && validation.gains;
}

// Returns true if `one` is preferred to `other`. Points that pass are
// preferred. The others are chosen only if there is no parent to keep: those
// that the log supports are preferred, then those that differ from the logging
// policy.
bool IsBetter(const Validation& one, const Validation& other) {
  if (Passes(one) != Passes(other)) return Passes(one);
  if (one.misses_support != other.misses_support) return other.misses_support;
  if (one.moved != other.moved) return one.moved;
  return one.gain.criterion() > other.gain.criterion();
}

// Returns the mean weight of the best trained point if SELF_NORMALISED left the
// support of the log at all of them; otherwise nullopt.
std::optional<MeanWeight> LeftLog(const GridTask& task,
                                  const Validation& best) {
  if (task.options.objective() != PoemOptions::SELF_NORMALISED ||
      !best.misses_support) {
    return std::nullopt;
  }
  return best.gain.weight;
}

absl::StatusOr<GridOutcome> TrainPoints(const GridTask& task) {
  ASSIGN_OR_RETURN(const Grid grid, MakeGrid(task));
  std::vector<PointResult> results = TrainAll(grid);
  GridOutcome outcome{.clip = grid.clip};
  std::optional<size_t> chosen;
  absl::Status diverged = absl::InternalError("no point is finite");
  for (size_t i = 0; i < results.size(); ++i) {
    const PointResult& result = results[i];
    if (!absl::IsInternal(result.status)) RETURN_IF_ERROR(result.status);
    if (!result.status.ok()) diverged = result.status;
    outcome.points.push_back(Describe(task, grid.points[i], result));
    if (task.on_point && result.status.ok()) {
      task.on_point(outcome.points.back(), result.learned.parameters);
    }
    if (grid.points[i].is_trained && result.status.ok() &&
        (!chosen || IsBetter(result.validation, results[*chosen].validation))) {
      chosen = i;
    }
  }
  if (!chosen) return diverged;
  outcome.left_log = LeftLog(task, results[*chosen].validation);
  // The parent, if there is one, is the first point.
  if (!grid.points[0].is_trained && results[0].status.ok() &&
      !Passes(results[*chosen].validation)) {
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
  ASSIGN_OR_RETURN(GridOutcome outcome, TrainPoints(task));
  if (!outcome.left_log.has_value()) return outcome;
  GridTask instead = task;
  instead.options.set_objective(PoemOptions::CRM);
  instead.options.clear_lambda();
  instead.options.clear_lambda_factor();
  ASSIGN_OR_RETURN(GridOutcome kept, TrainPoints(instead));
  kept.left_log = outcome.left_log;
  for (Evaluation::GridPoint& point : outcome.points) {
    if (point.termination() == kNotTrained) continue;
    point.set_chosen(false);
    kept.points.push_back(std::move(point));
  }
  return kept;
}

}  // namespace sortition
