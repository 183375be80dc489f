#include "trainer/exploration/order_log.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/status_macros.h"
#include "core/counterfactual/diagnostics.h"
#include "core/counterfactual/findings.h"
#include "core/policies/distribution_factory.h"

namespace sortition {

absl::StatusOr<OrderLog> OrderLog::Create(const model::v1::Model& model,
                                          std::span<const BanditTuple> tuples) {
  ASSIGN_OR_RETURN(ScoredQueries queries,
                   ScoredQueries::Create(model, {tuples}));
  return OrderLog(std::move(queries), tuples);
}

OrderLog::OrderLog(ScoredQueries queries, std::span<const BanditTuple> tuples)
    : queries_(std::move(queries)), tuples_(tuples) {
  const auto uniform = MakeUniformDistribution(ActionKind::kRank);
  for (size_t i = 0; i < tuples_.size(); ++i) {
    const BanditTuple& tuple = tuples_[i];
    by_score_.push_back(MapPrediction(ActionKind::kRank, queries_[i]));
    rewards_.push_back(-tuple.loss);
    log_propensities_.push_back(tuple.log_propensity);
    log_uniform_.push_back(uniform->LogPropensity(queries_[i], tuple.action));
    if (!tuple.action_shown) ++shown_otherwise_;
    if (!tuple.full_support) ++without_full_support_;
  }
}

double OrderLog::mean_reward() const {
  return std::accumulate(rewards_.begin(), rewards_.end(), 0.0) /
         static_cast<double>(size());
}

uint32_t OrderLog::most_ranks() const {
  size_t most = 0;
  for (const BanditTuple& tuple : tuples_) {
    most = std::max(most, tuple.action.size());
  }
  return static_cast<uint32_t>(most);
}

std::vector<double> OrderLog::LogProbabilities(
    const ActionDistribution& distribution) const {
  DistributionScratch scratch;
  std::vector<double> log_probabilities(
      size(), -std::numeric_limits<double>::infinity());
  for (size_t i = 0; i < size(); ++i) {
    if (!tuples_[i].action_shown) continue;
    ScoredCandidates scored = queries_[i];
    scored.scratch = &scratch;
    log_probabilities[i] =
        distribution.LogPropensity(scored, tuples_[i].action);
  }
  return log_probabilities;
}

std::vector<double> OrderLog::LogWeights(
    std::span<const double> log_probabilities) const {
  std::vector<double> log_weights(size());
  for (size_t i = 0; i < size(); ++i) {
    log_weights[i] = log_probabilities[i] - log_propensities_[i];
  }
  return log_weights;
}

std::optional<std::string> OrderLog::WhyUnsupported(
    std::span<const double> log_weights) const {
  const Overlap overlap =
      MeasureOverlap({.log_weights = log_weights,
                      .log_propensities = log_propensities_,
                      .log_uniform = log_uniform_,
                      .shown_otherwise = shown_otherwise_,
                      .without_full_support = without_full_support_,
                      .clip = std::numeric_limits<double>::infinity()});
  // The gravest finding comes first.
  const std::vector<Finding> findings =
      JudgeOverlap(overlap, TupleUse::kHeldOut);
  if (findings.empty() || findings[0].gravity == Gravity::kCaution) {
    return std::nullopt;
  }
  return findings[0].sentence;
}

OrderLog::Departure OrderLog::DepartureOf(
    const ActionDistribution& distribution) const {
  DistributionScratch scratch;
  std::vector<double> first;
  Departure departure;
  for (size_t i = 0; i < size(); ++i) {
    ScoredCandidates scored = queries_[i];
    scored.scratch = &scratch;
    first.resize(scored.scores.size());
    distribution.FirstProbabilities(scored, first);
    departure.first += 1 - first[by_score_[i][0]];
    departure.order +=
        -std::expm1(distribution.LogPropensity(scored, by_score_[i]));
  }
  departure.first /= static_cast<double>(size());
  departure.order /= static_cast<double>(size());
  return departure;
}

}  // namespace sortition
