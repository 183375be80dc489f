#include "core/learners/orders/list_net.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {

using config::v1::ListNetOptions;

namespace internal {

// Returns log Σ exp(scores).
double LogSumExp(std::span<const double> scores) {
  const double largest = *std::ranges::max_element(scores);
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - largest);
  return largest + std::log(sum);
}

std::vector<double> TopProbabilities(std::span<const uint32_t> relevances,
                                     ListNetOptions::Target target) {
  std::vector<double> gains(relevances.size());
  for (size_t i = 0; i < gains.size(); ++i) {
    gains[i] = target == ListNetOptions::GAIN ? std::exp2(relevances[i]) - 1
                                              : relevances[i];
  }
  const double total = LogSumExp(gains);
  for (double& gain : gains) gain = std::exp(gain - total);
  return gains;
}

bool AllEqual(std::span<const uint32_t> relevances) {
  return std::ranges::adjacent_find(relevances, std::not_equal_to<>()) ==
         relevances.end();
}

}  // namespace internal

ListNetObjective::ListNetObjective(std::span<const LabelledItems> queries,
                                   double lambda, ListNetOptions::Target target)
    : dimension_(queries[0].items.num_features()), lambda_(lambda) {
  for (const LabelledItems& query : queries) {
    if (internal::AllEqual(query.relevances)) continue;
    queries_.push_back(query);
    targets_.push_back(internal::TopProbabilities(query.relevances, target));
  }
}

double ListNetObjective::Evaluate(const Eigen::VectorXd& point,
                                  Eigen::VectorXd* gradient) const {
  const double share = 1 / static_cast<double>(queries_.size());
  double value = lambda_ / 2 * point.squaredNorm();
  if (gradient != nullptr) *gradient = lambda_ * point;
  for (size_t q = 0; q < queries_.size(); ++q) {
    const Candidates& items = queries_[q].items;
    const std::vector<double>& target = targets_[q];
    scores_.resize(target.size());
    ScoreAll(items, {point.data(), static_cast<size_t>(point.size())}, scores_);
    const double total = internal::LogSumExp(scores_);
    for (uint32_t i = 0; i < target.size(); ++i) {
      const double log_p = scores_[i] - total;
      value -= share * target[i] * log_p;
      if (gradient == nullptr) continue;
      items.AddRow(i, share * (std::exp(log_p) - target[i]),
                   {gradient->data(), static_cast<size_t>(gradient->size())});
    }
  }
  return value;
}

absl::StatusOr<ListNetResult> TrainListNet(
    std::span<const LabelledItems> queries, double lambda,
    const ListNetOptions& options,
    const std::function<void(uint32_t iteration)>& on_iteration) {
  if (!(lambda > 0 && lambda < HUGE_VAL)) {
    return absl::InvalidArgumentError(
        absl::StrCat("lambda is ", lambda, ", must be above 0 and finite"));
  }
  RETURN_IF_ERROR(CheckQueries(queries, internal::kMostListNetRelevance));
  const ListNetObjective objective(queries, lambda, options.target());
  if (objective.num_queries() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "none of ", queries.size(),
        " queries has candidates of different relevances, at least 1 must"));
  }
  ListNetResult result;
  ASSIGN_OR_RETURN(
      result.descent,
      MinimizeByLbfgs(objective, Eigen::VectorXd::Zero(objective.dimension()),
                      options.lbfgs(), on_iteration));
  result.weights.assign(result.descent.point.begin(),
                        result.descent.point.end());
  return result;
}

}  // namespace sortition
