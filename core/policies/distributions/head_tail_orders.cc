#include "core/policies/distributions/head_tail_orders.h"

#include <algorithm>

#include "core/policies/distributions/ranking_distribution.h"

namespace sortition {
namespace {

// Far from overflow, so that infinity times 0 never makes a NaN.
constexpr double kMaxSpread = 1e300;

}  // namespace

bool HeadTailOrders::Build(const HeadTailLaw& law,
                           std::span<const double> scores, uint32_t top_k) {
  alpha_ = law.alpha;
  tail_alpha_ = law.tail_alpha;
  top_k_ = top_k;
  const size_t h = std::min(scores.size(), law.rank_weights.size());
  psi_.resize(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) psi_[i] = alpha_ * scores[i];
  SortTop(psi_, static_cast<uint32_t>(h), &head_);
  head_psi_.clear();
  for (const int32_t position : head_) head_psi_.push_back(psi_[position]);
  const double spread = (law.rank_weights[0] - law.rank_weights[h - 1]) *
                        (head_psi_.front() - head_psi_.back());
  if (!(spread <= kMaxSpread)) return false;
  orders_.Build(law.rank_weights.first(h), head_psi_);
  tail_.clear();
  tail_scores_.clear();
  if (top_k > h) FindTail(scores);
  return true;
}

void HeadTailOrders::FindTail(std::span<const double> scores) {
  first_ranks_.assign(head_.begin(), head_.end());
  std::sort(first_ranks_.begin(), first_ranks_.end());
  auto next = first_ranks_.begin();
  for (size_t i = 0; i < scores.size(); ++i) {
    const auto position = static_cast<int32_t>(i);
    if (next != first_ranks_.end() && *next == position) {
      ++next;
      continue;
    }
    tail_.push_back(position);
    tail_scores_.push_back(scores[i]);
  }
}

int32_t HeadTailOrders::PlaceInTail(int32_t position) const {
  int32_t before = 0;
  for (const int32_t other : head_) before += other < position ? 1 : 0;
  return position - before;
}

void HeadTailOrders::Draw(const CounterRandom& random, uint32_t first_block,
                          std::vector<int32_t>* order) {
  const size_t h = std::min<size_t>(top_k_, head_.size());
  numbers_.resize(h + tail_.size());
  random.UniformBlocks(first_block, numbers_);
  const std::span<double> numbers = numbers_;
  orders_.Draw(numbers.first(h), &first_ranks_, &conditionals_);
  order->clear();
  for (const int32_t place : first_ranks_) order->push_back(head_[place]);
  if (tail_.empty()) return;
  DrawPlackettLuce(tail_scores_, tail_alpha_, top_k_ - static_cast<uint32_t>(h),
                   numbers.subspan(h), &last_ranks_);
  for (const int32_t place : last_ranks_) order->push_back(tail_[place]);
}

void HeadTailOrders::ConditionalLogPropensities(
    std::span<const int32_t> order, DistributionScratch* scratch,
    std::vector<double>* conditionals) {
  const size_t h = std::min(order.size(), head_.size());
  first_ranks_.clear();
  for (const int32_t position : order.first(h)) {
    const auto place = std::find(head_.begin(), head_.end(), position);
    if (place == head_.end()) break;
    first_ranks_.push_back(static_cast<int32_t>(place - head_.begin()));
  }
  orders_.ConditionalLogPropensities(first_ranks_, conditionals);
  if (first_ranks_.size() < h) conditionals->resize(order.size(), -HUGE_VAL);
  if (conditionals->size() == order.size()) return;
  last_ranks_.clear();
  for (const int32_t position : order.subspan(h)) {
    last_ranks_.push_back(PlaceInTail(position));
  }
  ScoredCandidates tail;
  tail.scores = tail_scores_;
  tail.top_k = static_cast<uint32_t>(last_ranks_.size());
  tail.scratch = scratch;
  RankingDistribution(tail_alpha_, 0)
      .ConditionalLogPropensities(tail, last_ranks_, &conditionals_);
  conditionals->insert(conditionals->end(), conditionals_.begin(),
                       conditionals_.end());
}

// For the head, log p(first ranks) = Σ_r a_r ψ(σ_r) + log Z(rest) - log Z, and
// the derivatives of the two logarithms by ψ are expectations of a_rank.
void HeadTailOrders::AddGradient(double scale, DistributionScratch* scratch,
                                 std::span<double> score_gradient) {
  by_place_.resize(head_.size());
  for (const bool given : {true, false}) {
    const std::span<const int32_t> first(first_ranks_);
    orders_.ExpectedRankWeights(given ? first : first.first(0), by_place_);
    const double factor = (given ? scale : -scale) * alpha_;
    for (size_t i = 0; i < head_.size(); ++i) {
      score_gradient[head_[i]] += factor * by_place_[i];
    }
  }
  if (tail_.empty()) return;
  ScoredCandidates tail;
  tail.scores = tail_scores_;
  tail.top_k = static_cast<uint32_t>(last_ranks_.size());
  tail.scratch = scratch;
  by_place_.resize(tail_.size());
  double none = 0;
  RankingDistribution(tail_alpha_, 0)
      .LogPropensityGradient(tail, last_ranks_, by_place_, &none);
  for (size_t i = 0; i < tail_.size(); ++i) {
    score_gradient[tail_[i]] += scale * by_place_[i];
  }
}

void HeadTailOrders::AddFirstProbabilities(double scale,
                                           std::span<double> probabilities) {
  by_place_.resize(head_.size());
  orders_.FirstProbabilities(by_place_);
  for (size_t i = 0; i < head_.size(); ++i) {
    probabilities[head_[i]] += scale * by_place_[i];
  }
}

}  // namespace sortition
