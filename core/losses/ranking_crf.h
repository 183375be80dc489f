#pragma once
// Conditional random fields over the orders of a few items, and five objectives
// to train them [VolkovsLarochelleZemel11] (seed 003).
//
// The model is p(σ) ∝ exp(W(σ)), W(σ) = Σ_r a_r s_σ(r), a_r = log 2 / log(r +
// 2): eq. 13 with W = -E. (The paper prints E = Σ a f, whose minimum puts high
// scores last, although eq. 14 needs them first.) The loss of an order is 1 -
// NDCG with linear gain (eq. 12). Several orders can have loss 0, since items
// of equal relevance may change places (sec. 4). These orders are the ground
// truths Y0.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "core/losses/order_moments.h"

namespace sortition {

struct CrfObjective {
  enum Kind {
    // -mean_{Y0} log p. Eq. 10 has a sum instead of the mean. The mean is the
    // limit of kKullbackLeibler for T -> 0 and does not give more weight to
    // queries with many equal labels.
    kMaximumLikelihood,
    // The same with W + α l in the partition function (eq. 4), an upper bound
    // of the mean loss.
    kLossAugmented,
    // log Σ exp(l (W - mean_{Y0} W) + l) (eq. 11), another upper bound.
    kLossScaled,
    // E[l] (eq. 6).
    kExpectedLoss,
    // KL(q‖p) with q ∝ exp(-l / T) (eq. 8, 9).
    kKullbackLeibler,
  };
  Kind kind = kMaximumLikelihood;
  double loss_weight = 1;  // α.
  double temperature = 1;  // T > 0.
};

// W and -l are both linear in the weights of the items' ranks. The likelihoods
// and KL need only partition functions of such sums and their derivatives,
// which OrderMoments computes. The other objectives sum over all orders by a
// walk through the tree of their prefixes, so that an order costs little more
// than one addition. Reusable: allocates nothing once it has met as many items.
class RankingCrf {
 public:
  static constexpr size_t kMaxItems = OrderMoments::kMaxItems;

  // Returns the objective and overwrites `gradient` with its derivatives with
  // respect to the scores. `gains` are the relevances, >= 0; if all are 0,
  // every order has loss 0 and is a ground truth. Requires 1 to kMaxItems
  // items, spans of that size and finite scores.
  double Evaluate(std::span<const double> scores, std::span<const double> gains,
                  const CrfObjective& objective, std::span<double> gradient);

  // The loss l(σ) and the probability p(σ) of each order, after Evaluate() of
  // kExpectedLoss, in lexicographic order of the orders.
  std::span<const double> losses() const {
    return {loss_.data(), static_cast<size_t>(loss_.size())};
  }
  std::span<const double> probabilities() const {
    return {probability_.data(), static_cast<size_t>(probability_.size())};
  }

 private:
  struct Node {
    uint8_t rank;  // The rank of its last item; n - 1: a whole order.
    uint8_t item;
  };

  void Prepare(size_t n);
  void PrepareTree();
  // Writes sums[i] = Σ_r values[item at rank r] a_r for each order i.
  void SumOrders(std::span<const double> values, Eigen::ArrayXd* sums);
  // Overwrites probability_ with exp(logits) / Σ exp(logits) and returns the
  // logarithm of the sum.
  double Normalise(const Eigen::ArrayXd& logits);
  // Returns Σ_r a_r gain(r) for the gains in decreasing order.
  double Ideal(std::span<const double> gains) const;
  // Sets target_[i] to the mean over Y0 of the weight of i's rank.
  void TargetTruths(std::span<const double> gains);
  double Likelihood(std::span<const double> scores,
                    std::span<const double> gains, double loss_weight,
                    std::span<double> gradient);
  double Divergence(std::span<const double> scores,
                    std::span<const double> gains, double temperature,
                    std::span<double> gradient);
  double ByOrders(std::span<const double> scores, std::span<const double> gains,
                  CrfObjective::Kind kind, std::span<double> gradient);
  // Returns the objective and sets derivative_ to its derivatives with respect
  // to W.
  double Differentiate(CrfObjective::Kind kind);
  void Spread(std::span<double> gradient) const;

  size_t n_ = 0;
  std::vector<Node> tree_;  // Prefixes in depth-first order.
  std::vector<double> rank_weights_;
  OrderMoments moments_;
  // One entry for each item.
  std::array<double, kMaxItems> shifted_;
  std::array<double, kMaxItems> target_;
  size_t num_walked_ = 0;  // The number of items for which tree_ was made.
  Eigen::ArrayXd weight_;  // W of each order.
  Eigen::ArrayXd loss_;
  Eigen::ArrayXd truth_;  // 1 / |Y0| in Y0, else 0.
  Eigen::ArrayXd probability_;
  Eigen::ArrayXd derivative_;  // With respect to W.
};

}  // namespace sortition
