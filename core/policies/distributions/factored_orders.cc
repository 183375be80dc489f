#include "core/policies/distributions/factored_orders.h"

#include <algorithm>
#include <numeric>

#include "core/base/inverse_cdf.h"
#include "core/base/stable_math.h"
#include "core/policies/distributions/ranking_distribution.h"

namespace sortition {

void FactoredOrders::Build(std::span<const double> factors, double alpha,
                           std::span<const double> scores, uint32_t top_k) {
  factors_ = factors;
  alpha_ = alpha;
  top_k_ = top_k;
  num_single_ = std::min<size_t>(top_k, factors.size() - 1);
  scores_.assign(scores.begin(), scores.end());
}

double FactoredOrders::FactorAt(size_t rank) const {
  return factors_[std::min(rank, factors_.size() - 1)];
}

void FactoredOrders::LeaveAll() {
  left_.resize(scores_.size());
  std::iota(left_.begin(), left_.end(), 0);
  left_scores_.assign(scores_.begin(), scores_.end());
}

FactoredOrders::Rank FactoredOrders::Weigh(size_t rank) {
  const double scale = alpha_ * FactorAt(rank);
  weights_.resize(left_scores_.size());
  for (size_t i = 0; i < weights_.size(); ++i) {
    weights_[i] = scale * left_scores_[i];
  }
  Rank at;
  at.largest = stable::Max(weights_);
  for (double& weight : weights_) weight -= at.largest;
  stable::ExpInPlace(weights_);
  const auto largest = std::find(weights_.begin(), weights_.end(), 1.0);
  *largest = 0;
  at.others = stable::Sum(weights_);
  *largest = 1;
  return at;
}

double FactoredOrders::LogProbability(const Rank& at, size_t rank,
                                      size_t place) const {
  const double logit = alpha_ * FactorAt(rank) * left_scores_[place];
  return (logit - at.largest) - stable::Log1p(at.others);
}

size_t FactoredOrders::PlaceOf(int32_t position) const {
  return static_cast<size_t>(
      std::lower_bound(left_.begin(), left_.end(), position) - left_.begin());
}

void FactoredOrders::Take(size_t place) {
  left_.erase(left_.begin() + static_cast<ptrdiff_t>(place));
  left_scores_.erase(left_scores_.begin() + static_cast<ptrdiff_t>(place));
}

void FactoredOrders::FindRest(std::span<const int32_t> order) {
  rest_.clear();
  for (const int32_t position : order.subspan(num_single_)) {
    rest_.push_back(static_cast<int32_t>(PlaceOf(position)));
  }
}

void FactoredOrders::Draw(const CounterRandom& random, uint32_t first_block,
                          std::vector<int32_t>* order) {
  LeaveAll();
  const bool has_rest = top_k_ > num_single_;
  numbers_.resize(has_rest ? scores_.size() : num_single_);
  random.UniformBlocks(first_block, numbers_);
  order->clear();
  for (size_t r = 0; r < num_single_; ++r) {
    const Rank at = Weigh(r);
    const size_t place = InverseCdf(weights_, numbers_[r] * (1 + at.others));
    order->push_back(left_[place]);
    Take(place);
  }
  if (!has_rest) return;
  DrawPlackettLuce(left_scores_, alpha_ * factors_.back(),
                   top_k_ - static_cast<uint32_t>(num_single_),
                   std::span<double>(numbers_).subspan(num_single_), &rest_);
  for (const int32_t place : rest_) order->push_back(left_[place]);
}

void FactoredOrders::ConditionalLogPropensities(
    std::span<const int32_t> order, DistributionScratch* scratch,
    std::vector<double>* conditionals) {
  LeaveAll();
  conditionals->clear();
  for (size_t r = 0; r < num_single_; ++r) {
    const Rank at = Weigh(r);
    const size_t place = PlaceOf(order[r]);
    conditionals->push_back(LogProbability(at, r, place));
    Take(place);
  }
  if (order.size() == num_single_) return;
  FindRest(order);
  ScoredCandidates rest;
  rest.scores = left_scores_;
  rest.top_k = static_cast<uint32_t>(rest_.size());
  rest.scratch = scratch;
  RankingDistribution(alpha_ * factors_.back(), 0)
      .ConditionalLogPropensities(rest, rest_, &rest_conditionals_);
  conditionals->insert(conditionals->end(), rest_conditionals_.begin(),
                       rest_conditionals_.end());
}

// ∂ log p_r / ∂ s_j = α f_r (1{j at rank r} - p_r(j)) for the candidates j that
// are left at rank r.
void FactoredOrders::AddGradient(std::span<const int32_t> order, double scale,
                                 DistributionScratch* scratch,
                                 std::span<double> score_gradient) {
  LeaveAll();
  for (size_t r = 0; r < num_single_; ++r) {
    const Rank at = Weigh(r);
    const size_t place = PlaceOf(order[r]);
    const double factor = scale * alpha_ * FactorAt(r);
    const double of_weight = factor / (1 + at.others);
    // 1 - p of the chosen one, without cancellation where p is near 1.
    const double chosen = 0 - stable::Expm1(LogProbability(at, r, place));
    for (size_t i = 0; i < left_.size(); ++i) {
      score_gradient[left_[i]] +=
          i == place ? factor * chosen : 0 - of_weight * weights_[i];
    }
    Take(place);
  }
  if (order.size() == num_single_) return;
  FindRest(order);
  ScoredCandidates rest;
  rest.scores = left_scores_;
  rest.top_k = static_cast<uint32_t>(rest_.size());
  rest.scratch = scratch;
  by_place_.resize(left_.size());
  double none = 0;
  RankingDistribution(alpha_ * factors_.back(), 0)
      .LogPropensityGradient(rest, rest_, by_place_, &none);
  for (size_t i = 0; i < left_.size(); ++i) {
    score_gradient[left_[i]] += scale * by_place_[i];
  }
}

void FactoredOrders::AddFirstProbabilities(double scale,
                                           std::span<double> probabilities) {
  LeaveAll();
  const Rank at = Weigh(0);
  const double of_weight = scale / (1 + at.others);
  for (size_t i = 0; i < weights_.size(); ++i) {
    probabilities[i] += of_weight * weights_[i];
  }
}

}  // namespace sortition
