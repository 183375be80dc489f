#include "core/learners/labelled/trusted_orders.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/aggregation/regulariser.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/data/labelled_items.h"
#include "core/data/labelled_queries.h"
#include "core/learners/labelled/order_divergence.h"
#include "core/metrics/pair_metrics.h"

namespace sortition {

using config::v1::OrderDivergence;

absl::StatusOr<TrustedOrders> TrustedOrders::Create(
    std::span<const LabelledItems> queries, std::vector<Order> orders,
    OrderDivergence::Kind divergence, uint32_t cutoff) {
  if (queries.empty() || orders.size() != queries.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", orders.size(), " trusted orders for ",
                     queries.size(), " queries, must be one each"));
  }
  TrustedOrders trusted;
  for (size_t q = 0; q < queries.size(); ++q) {
    const Candidates& items = queries[q].items;
    if (const absl::Status status =
            ValidateOrder(orders[q], items.num_candidates());
        !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("query ", q, ": ", status.message()));
    }
    auto& function = trusted.functions_[items.num_candidates()];
    if (function == nullptr) {
      ASSIGN_OR_RETURN(function,
                       MakeDivergence(DivergenceOf(divergence), cutoff,
                                      items.num_candidates()));
    }
    trusted.queries_.push_back(items);
  }
  trusted.orders_ = std::move(orders);
  return trusted;
}

TrustedOrders TrustedOrders::Over(
    std::span<const LabelledItems> queries) const {
  CHECK(queries.size() == queries_.size());
  TrustedOrders result = *this;
  for (size_t q = 0; q < queries.size(); ++q) {
    result.queries_[q] = queries[q].items;
  }
  return result;
}

double TrustedOrders::Add(size_t q, double scale,
                          std::span<const double> weights,
                          std::span<double> slope) const {
  const Candidates& items = queries_[q];
  std::vector<double> scores(items.num_candidates());
  std::vector<double> slopes(items.num_candidates());
  ScoreAll(items, weights, scores);
  const double value =
      AddOrderPenalty(function(q), orders_[q], scale, scores, slopes);
  for (uint32_t i = 0; i < items.num_candidates(); ++i) {
    if (slopes[i] != 0) items.AddRow(i, slopes[i], slope);
  }
  return value;
}

double TrustedOrders::AddMean(double scale, std::span<const double> weights,
                              std::span<double> slope) const {
  const double share = scale / static_cast<double>(num_queries());
  double sum = 0;
  for (size_t q = 0; q < num_queries(); ++q) {
    sum += Add(q, share, weights, slope);
  }
  return sum;
}

TrustedOrders::Distance TrustedOrders::Measure(
    std::span<const double> weights) const {
  Distance distance;
  double with_pairs = 0;
  std::vector<double> scores;
  for (size_t q = 0; q < num_queries(); ++q) {
    scores.resize(orders_[q].size());
    ScoreAll(queries_[q], weights, scores);
    distance.divergence += function(q).Divergence(scores, orders_[q]);
    if (scores.size() < 2) continue;
    const auto n = static_cast<double>(scores.size());
    distance.inverted_pairs +=
        static_cast<double>(
            KendallDistance(OrderAlong(scores, orders_[q]), orders_[q])) /
        (n * (n - 1) / 2);
    ++with_pairs;
  }
  distance.divergence /= static_cast<double>(num_queries());
  if (with_pairs > 0) distance.inverted_pairs /= with_pairs;
  return distance;
}

}  // namespace sortition
