#include "trainer/grid.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/estimators.h"
#include "core/learners/poem.h"
#include "trainer/progress.h"

namespace sortition {
namespace {

struct Point {
  double lambda = 0;
  double l2 = 0;
  bool from_parent = false;
};

// Of the policy on the validation tuples.
struct Validation {
  double reward = 0;  // Eq. 1 in rewards: mean of r ρ, unbiased.
  double lower = 0;   // Of the clipped mean, at its best clip.
};

struct PointResult {
  absl::Status status;
  PoemResult poem;
  Validation validation;
};

std::vector<Point> ListPoints(const GridTask& task) {
  std::vector<double> lambdas(task.options.lambda().begin(),
                              task.options.lambda().end());
  if (lambdas.empty()) lambdas = {0, 0.1, 1};
  std::vector<double> l2s(task.options.l2().begin(), task.options.l2().end());
  if (l2s.empty()) l2s = {1e-6, 1e-4, 1e-2};
  const auto start = task.options.start();
  const bool has_parent = task.parent_start.size() > 0;
  const bool zero = start != config::v1::PoemOptions::PARENT || !has_parent;
  const bool parent = start != config::v1::PoemOptions::ZERO && has_parent;
  std::vector<Point> points;
  for (const bool from_parent : {false, true}) {
    if (!(from_parent ? parent : zero)) continue;
    for (const double lambda : lambdas) {
      for (const double l2 : l2s) points.push_back({lambda, l2, from_parent});
    }
  }
  return points;
}

absl::StatusOr<Validation> Validate(const GridTask& task,
                                    const Eigen::VectorXd& parameters) {
  // Only compares points: the level is not claimed by anything reported.
  constexpr double kConfidence = 0.95;
  ASSIGN_OR_RETURN(LinearTuplePolicy policy,
                   LinearTuplePolicy::Create(task.family, task.validation));
  std::vector<double> rewards(policy.num_tuples());
  std::vector<double> log_weights(policy.num_tuples());
  for (size_t i = 0; i < policy.num_tuples(); ++i) {
    rewards[i] = policy.reward(i);
    log_weights[i] = policy.LogWeight(parameters, i);
  }
  OffPolicyEstimator estimator(ChooseEvaluationClip(
      rewards, log_weights, policy.num_tuples(), kConfidence));
  for (size_t i = 0; i < rewards.size(); ++i) {
    estimator.Add(rewards[i], log_weights[i]);
  }
  const OffPolicyEstimates estimates = estimator.Estimate(kConfidence);
  return Validation{estimates.unclipped_ips, estimates.improvement.lower};
}

PointResult TrainPoint(const GridTask& task, const Point& point,
                       Progress* progress) {
  PointResult result;
  const uint32_t max_epochs = task.options.adagrad().max_epochs();
  const auto train = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(LinearTuplePolicy policy,
                     LinearTuplePolicy::Create(task.family, task.train));
    PoemRun run;
    run.adagrad = task.options.adagrad();
    run.crm = {.clip = task.clip, .lambda = point.lambda, .l2 = point.l2};
    run.seed = task.options.seed();
    if (point.from_parent) run.start = task.parent_start;
    run.on_epoch = [progress](uint32_t) { progress->Add(1); };
    ASSIGN_OR_RETURN(result.poem, TrainPoem(&policy, run));
    ASSIGN_OR_RETURN(result.validation, Validate(task, result.poem.parameters));
    return absl::OkStatus();
  };
  result.status = train();
  // What early stopping saved counts as done.
  progress->Add(max_epochs - std::min(max_epochs, result.poem.epochs));
  return result;
}

std::vector<PointResult> TrainAll(const GridTask& task,
                                  const std::vector<Point>& points) {
  Progress progress("training", "epochs",
                    points.size() * task.options.adagrad().max_epochs());
  std::vector<PointResult> results(points.size());
  std::atomic<size_t> next = 0;
  const size_t num_threads =
      std::min<size_t>(task.options.threads(), points.size());
  std::vector<std::jthread> threads;
  for (size_t t = 0; t < num_threads; ++t) {
    threads.emplace_back([&] {
      for (size_t i = next++; i < points.size(); i = next++) {
        results[i] = TrainPoint(task, points[i], &progress);
      }
    });
  }
  threads.clear();  // Joins.
  return results;
}

}  // namespace

absl::StatusOr<GridOutcome> TrainGrid(const GridTask& task) {
  const std::vector<Point> points = ListPoints(task);
  const std::vector<PointResult> results = TrainAll(task, points);
  GridOutcome outcome;
  double best = -std::numeric_limits<double>::infinity();
  size_t chosen = points.size();
  for (size_t i = 0; i < points.size(); ++i) {
    const PointResult& result = results[i];
    const bool diverged = absl::IsInternal(result.status);
    if (!diverged) RETURN_IF_ERROR(result.status);
    model::v1::Evaluation::GridPoint& point = outcome.points.emplace_back();
    point.set_lambda(points[i].lambda);
    point.set_l2(points[i].l2);
    point.set_start(points[i].from_parent ? "parent" : "zero");
    point.set_epochs(result.poem.epochs);
    point.set_train_objective(result.poem.objective);
    point.set_validation_reward(result.validation.reward);
    point.set_validation_lower(result.validation.lower);
    point.set_termination(
        diverged ? "diverged"
                 : std::string(PoemTerminationName(result.poem.termination)));
    // The unbiased estimate alone would choose a point that a few huge weights
    // flatter; the bound is the criterion of CRM applied to validation.
    if (!diverged && result.validation.lower > best) {
      best = result.validation.lower;
      chosen = i;
    }
  }
  if (chosen == points.size()) return results[0].status;
  outcome.points[chosen].set_chosen(true);
  outcome.parameters = results[chosen].poem.parameters;
  return outcome;
}

}  // namespace sortition
