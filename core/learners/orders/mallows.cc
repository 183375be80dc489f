#include "core/learners/orders/mallows.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/aggregation/aggregate_policy.h"
#include "core/aggregation/lovasz_mallows.h"
#include "core/base/status_macros.h"
#include "core/learners/labelled/lambda_path.h"
#include "core/learners/labelled/order_divergence.h"
#include "core/learners/labelled/rank_policy.h"
#include "core/learners/labelled/tuned_learner.h"
#include "core/policies/distributions/boltzmann_orders.h"

namespace sortition {
namespace {

using config::v1::MallowsOptions;
using config::v1::OrderDivergence;
using config::v1::RankPolicyOptions;

constexpr char kMallowsLambda[] = "mallows.lambda";

// δ for the longest possible order. The increments for fewer items differ from
// it at most by a constant, which changes no probability.
using Increments = std::vector<double>;

absl::StatusOr<Increments> IncrementsOf(const MallowsOptions& options) {
  if (options.divergence() == OrderDivergence::TOP &&
      options.cutoff() >= BoltzmannOrders::kMaxItems) {
    return absl::InvalidArgumentError(
        absl::StrCat("mallows.cutoff is ", options.cutoff(), ", must be below ",
                     BoltzmannOrders::kMaxItems,
                     " for divergence TOP: queries have no more candidates"));
  }
  ASSIGN_OR_RETURN(
      const auto f,
      MakeDivergence(DivergenceOf(options.divergence()), options.cutoff(),
                     BoltzmannOrders::kMaxItems));
  return Increments(f->increments().begin(), f->increments().end());
}

absl::Status CheckTies(std::span<const uint32_t> relevances, const Order& order,
                       const Increments& increments) {
  for (size_t r = 0; r + 1 < order.size(); ++r) {
    if (relevances[order[r]] != relevances[order[r + 1]] ||
        increments[r] == increments[r + 1]) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "two candidates have the relevance ", relevances[order[r]],
        " at the ranks ", r, " and ", r + 1,
        " from 0, must differ: mallows learns from orders without ties up to "
        "mallows.cutoff"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ObservedOrder> ObservedOf(const LabelledItems& query,
                                         const Increments& increments) {
  const Candidates& items = query.items;
  const uint32_t n = items.num_candidates();
  if (n > increments.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "it has ", n, " candidates, must have at most ", increments.size(),
        ", because training sums over all their orders; crf takes more"));
  }
  ObservedOrder observed;
  observed.lists.resize(items.num_features(), n);
  std::vector<double> row(items.num_features());
  for (uint32_t i = 0; i < n; ++i) {
    std::fill(row.begin(), row.end(), 0);
    items.AddRow(i, 1, row);
    for (size_t j = 0; j < row.size(); ++j) {
      observed.lists(static_cast<Eigen::Index>(j), i) = row[j];
    }
  }
  observed.order.resize(n);
  std::iota(observed.order.begin(), observed.order.end(), 0u);
  std::ranges::stable_sort(observed.order, std::greater<>(),
                           [&](uint32_t i) { return query.relevances[i]; });
  RETURN_IF_ERROR(CheckTies(query.relevances, observed.order, increments));
  return observed;
}

absl::StatusOr<std::vector<ObservedOrder>> AllObserved(
    std::span<const LabelledItems> queries, const Increments& increments,
    absl::string_view part) {
  std::vector<ObservedOrder> orders;
  for (size_t q = 0; q < queries.size(); ++q) {
    absl::StatusOr<ObservedOrder> observed = ObservedOf(queries[q], increments);
    if (!observed.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          part, " query ", q, " from 0: ", observed.status().message()));
    }
    orders.push_back(*std::move(observed));
  }
  return orders;
}

absl::StatusOr<PointFit> FitPoint(std::span<const ObservedOrder> orders,
                                  const Increments& increments, double lambda,
                                  const ParallelFor& parallel_for) {
  const auto n = static_cast<double>(orders.size());
  ASSIGN_OR_RETURN(const MallowsFit fit,
                   FitMallows(orders, increments, lambda * n, parallel_for));
  PointFit point;
  point.weights.assign(fit.theta.begin(), fit.theta.end());
  if (fit.converged) {
    point.standard_errors.assign(fit.standard_error.begin(),
                                 fit.standard_error.end());
  }
  point.objective =
      lambda / 2 * fit.theta.squaredNorm() - fit.log_likelihood / n;
  point.passes = fit.passes;
  point.termination = fit.termination;
  return point;
}

absl::StatusOr<std::vector<TuningPoint>> Points(const MallowsOptions& options,
                                                const Increments& increments,
                                                const LabelledTask& task) {
  ASSIGN_OR_RETURN(
      const std::vector<double> lambdas,
      LambdaPath(options.lambda(), task.training.size(), kMallowsLambda));
  ASSIGN_OR_RETURN(std::vector<ObservedOrder> training,
                   AllObserved(task.training, increments, "training"));
  // Checks early, so that it does not fail after hours of training.
  RETURN_IF_ERROR(
      AllObserved(task.validation, increments, "validation").status());
  const auto orders =
      std::make_shared<const std::vector<ObservedOrder>>(std::move(training));
  return PointsAt(lambdas, [=](const LabelledTask& of, double lambda,
                               const std::function<void()>& on_step) {
    absl::StatusOr<PointFit> fit =
        FitPoint(*orders, increments, lambda, of.parallel_for);
    on_step();
    return fit;
  });
}

absl::StatusOr<double> LogProbabilityOf(const LabelledItems& query,
                                        const Increments& increments,
                                        const std::vector<double>& weights) {
  ASSIGN_OR_RETURN(const ObservedOrder observed, ObservedOf(query, increments));
  return MallowsLogProbability(
      observed, increments,
      Eigen::Map<const Eigen::VectorXd>(
          weights.data(), static_cast<Eigen::Index>(weights.size())));
}

absl::StatusOr<model::v1::Policy> PolicyOf(const MallowsOptions& options,
                                           const LabelledPolicyTask& task) {
  if (task.rank.has_cutoff() ||
      (task.rank.has_kind() &&
       task.rank.kind() != RankPolicyOptions::BOLTZMANN)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rank_policy.", task.rank.has_cutoff() ? "cutoff" : "kind",
        " is set, must be ", task.rank.has_cutoff() ? "unset" : "BOLTZMANN",
        " for learner mallows, which draws from its own model"));
  }
  ASSIGN_OR_RETURN(model::v1::Policy policy,
                   MakeRankPolicy(task, RankPolicyOptions::BOLTZMANN));
  const model::v1::Policy draw = MakeAggregateDraw(
      DivergenceOf(options.divergence()), options.cutoff(), 1);
  policy.set_inverse_temperature(draw.inverse_temperature());
  policy.mutable_boltzmann_ranking()->clear_cutoff();
  policy.mutable_boltzmann_ranking()->MergeFrom(draw.boltzmann_ranking());
  // Uses the limit of the learned orders as head, so that the policy is the
  // model.
  if (!task.rank.has_head()) {
    policy.mutable_boltzmann_ranking()->set_head(BoltzmannOrders::kMaxItems);
  }
  return policy;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeMallowsLearner(
    const MallowsOptions& options, const LabelledShape& shape) {
  ASSIGN_OR_RETURN(const Increments increments, IncrementsOf(options));
  RETURN_IF_ERROR(LambdaPath(options.lambda(), 1, kMallowsLambda).status());
  TunedLearnerSpec spec;
  spec.options = std::make_shared<MallowsOptions>(options);
  ASSIGN_OR_RETURN(spec.measure, LinearOrderMeasure(shape));
  spec.has_temperature = false;
  spec.num_points = LambdaPathSize(options.lambda());
  spec.points = [options, increments](const LabelledTask& task) {
    return Points(options, increments, task);
  };
  spec.validate = [increments](const LabelledItems& query,
                               const PointFit& fit) {
    return LogProbabilityOf(query, increments, fit.weights);
  };
  spec.validation_name = "log-likelihood of the order";
  spec.make_policy = [options](const LabelledPolicyTask& task) {
    return PolicyOf(options, task);
  };
  return std::make_unique<TunedLearner>(std::move(spec));
}

}  // namespace sortition
