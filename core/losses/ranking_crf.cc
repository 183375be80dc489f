#include "core/losses/ranking_crf.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/base/check.h"

namespace sortition {
namespace {

// Losses are differences of discounts, so that a smaller loss can only be
// rounding error.
constexpr double kNoLoss = 1e-9;

}  // namespace

void RankingCrf::Prepare(size_t n) {
  if (n == n_) return;
  n_ = n;
  rank_weights_.resize(n);
  for (size_t r = 0; r < n; ++r) {
    rank_weights_[r] = std::log(2) / std::log(static_cast<double>(r) + 2);
  }
}

void RankingCrf::PrepareTree() {
  const size_t n = n_;
  if (n == num_walked_) return;
  num_walked_ = n;
  tree_.clear();
  // A depth-first walk through all prefixes; the bits of `taken` are their
  // items.
  std::array<uint8_t, kMaxItems> path;
  uint32_t taken = 0;
  size_t rank = 0;
  uint8_t next = 0;
  for (;;) {
    while (next < n && (taken >> next & 1) != 0) ++next;
    if (next == n) {
      if (rank == 0) break;
      --rank;
      taken ^= 1u << path[rank];
      next = static_cast<uint8_t>(path[rank] + 1);
      continue;
    }
    tree_.push_back({static_cast<uint8_t>(rank), next});
    path[rank++] = next;
    taken |= 1u << next;
    next = 0;
  }
  const auto orders = std::count_if(
      tree_.begin(), tree_.end(),
      [n](const Node& node) { return size_t{node.rank} + 1 == n; });
  for (Eigen::ArrayXd* values :
       {&weight_, &loss_, &truth_, &probability_, &derivative_}) {
    values->resize(orders);
  }
}

void RankingCrf::SumOrders(std::span<const double> values,
                           Eigen::ArrayXd* sums) {
  std::array<double, kMaxItems + 1> prefix{};
  double* sum = sums->data();
  for (const Node& node : tree_) {
    prefix[node.rank + 1u] =
        prefix[node.rank] + rank_weights_[node.rank] * values[node.item];
    if (node.rank + 1u == n_) *sum++ = prefix[n_];
  }
}

double RankingCrf::Normalise(const Eigen::ArrayXd& logits) {
  const double largest = logits.maxCoeff();
  probability_ = (logits - largest).exp();
  const double sum = probability_.sum();
  probability_ /= sum;
  return largest + std::log(sum);
}

double RankingCrf::Differentiate(CrfObjective::Kind kind) {
  if (kind == CrfObjective::kLossScaled) {
    const double truth = (truth_ * weight_).sum();
    const double log_z = Normalise(loss_ * (weight_ - truth) + loss_);
    derivative_ = probability_ * loss_;
    derivative_ -= derivative_.sum() * truth_;
    return log_z;
  }
  Normalise(weight_);
  const double expected = (probability_ * loss_).sum();
  derivative_ = probability_ * (loss_ - expected);
  return expected;
}

// Writes the derivatives with respect to the scores. ∂W/∂s_i is the weight of
// i's rank, so the derivatives of all orders with a given prefix are added once
// for the last item of the prefix.
void RankingCrf::Spread(std::span<double> gradient) const {
  std::fill(gradient.begin(), gradient.end(), 0);
  std::array<double, kMaxItems + 1> below{};
  const double* derivative = derivative_.data() + derivative_.size();
  for (size_t i = tree_.size(); i-- > 0;) {
    const Node node = tree_[i];
    double& sum = below[node.rank + 1u];
    if (node.rank + 1u == n_) sum = *--derivative;
    gradient[node.item] += rank_weights_[node.rank] * sum;
    below[node.rank] += sum;
    sum = 0;
  }
}

double RankingCrf::ByOrders(std::span<const double> scores,
                            std::span<const double> gains,
                            CrfObjective::Kind kind,
                            std::span<double> gradient) {
  PrepareTree();
  SumOrders(scores, &weight_);
  SumOrders(gains, &loss_);
  const double ideal = loss_.maxCoeff();
  if (ideal > 0) {
    loss_ = 1 - loss_ / ideal;
  } else {
    loss_.setZero();
  }
  loss_ = (loss_ < kNoLoss).select(0.0, loss_);
  truth_ = (loss_ == 0).cast<double>();
  truth_ /= truth_.sum();
  const double value = Differentiate(kind);
  Spread(gradient);
  return value;
}

double RankingCrf::Ideal(std::span<const double> gains) const {
  std::array<double, kMaxItems> sorted;
  SortFalling(gains, {sorted.data(), n_});
  return std::inner_product(rank_weights_.begin(), rank_weights_.end(),
                            sorted.begin(), 0.0);
}

// The items of equal gain share the ranks of their group equally.
void RankingCrf::TargetTruths(std::span<const double> gains) {
  for (size_t i = 0; i < n_; ++i) {
    size_t first = 0;
    size_t end = 0;
    for (const double gain : gains) {
      first += gain > gains[i] ? 1 : 0;
      end += gain >= gains[i] ? 1 : 0;
    }
    target_[i] = std::accumulate(rank_weights_.begin() + first,
                                 rank_weights_.begin() + end, 0.0) /
                 static_cast<double>(end - first);
  }
}

// W + α l = α + Σ_i a_rank(i) (s_i - α gain_i / ideal).
double RankingCrf::Likelihood(std::span<const double> scores,
                              std::span<const double> gains, double loss_weight,
                              std::span<double> gradient) {
  const double ideal = Ideal(gains);
  const double alpha = ideal > 0 ? loss_weight : 0;
  double value = alpha;
  for (size_t i = 0; i < n_; ++i) {
    shifted_[i] = scores[i] - (alpha > 0 ? alpha * gains[i] / ideal : 0);
  }
  value += moments_.Evaluate(rank_weights_, {shifted_.data(), n_}, gradient);
  TargetTruths(gains);
  for (size_t i = 0; i < n_; ++i) {
    value -= target_[i] * scores[i];
    gradient[i] -= target_[i];
  }
  return value;
}

// q ∝ exp(-l / T) is of the model's form, with scores gain / (T ideal).
double RankingCrf::Divergence(std::span<const double> scores,
                              std::span<const double> gains, double temperature,
                              std::span<double> gradient) {
  const double ideal = Ideal(gains);
  for (size_t i = 0; i < n_; ++i) {
    shifted_[i] = ideal > 0 ? gains[i] / (temperature * ideal) : 0;
  }
  double value = -moments_.Evaluate(rank_weights_, {shifted_.data(), n_},
                                    {target_.data(), n_});
  value += moments_.Evaluate(rank_weights_, scores, gradient);
  for (size_t i = 0; i < n_; ++i) {
    value += target_[i] * (shifted_[i] - scores[i]);
    gradient[i] -= target_[i];
  }
  return value;
}

double RankingCrf::Evaluate(std::span<const double> scores,
                            std::span<const double> gains,
                            const CrfObjective& objective,
                            std::span<double> gradient) {
  DCHECK(scores.size() >= 1 && scores.size() <= kMaxItems);
  Prepare(scores.size());
  switch (objective.kind) {
    case CrfObjective::kMaximumLikelihood:
      return Likelihood(scores, gains, 0, gradient);
    case CrfObjective::kLossAugmented:
      return Likelihood(scores, gains, objective.loss_weight, gradient);
    case CrfObjective::kKullbackLeibler:
      return Divergence(scores, gains, objective.temperature, gradient);
    case CrfObjective::kLossScaled:
    case CrfObjective::kExpectedLoss:
      return ByOrders(scores, gains, objective.kind, gradient);
  }
  CHECK(false);
}

}  // namespace sortition
