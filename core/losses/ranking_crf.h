#pragma once
// Conditional random fields over the orders of a few items, and five objectives
// to train them by [VolkovsLarochelleZemel11] (seed 003).
//
// The model is p(σ) ∝ exp(W(σ)), W(σ) = Σ_r a_r s_σ(r), a_r = log 2 / log(r +
// 2): eq. 13 with W = -E. (Printed, E = Σ a f, whose least order puts high
// scores last, where eq. 14 wants them first.) The loss of an order is 1 - NDCG
// of linear gain (eq. 12). Several orders can have none: items of one relevance
// may change places (sec. 4). They are the ground truths Y0.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "core/losses/order_moments.h"

namespace sortition {

struct CrfObjective {
  enum Kind {
    // -mean_{Y0} log p. Eq. 10 has a sum for the mean; the mean is the limit of
    // kKullbackLeibler for T -> 0 and does not count queries with many equal
    // labels more.
    kMaximumLikelihood,
    // The same with W + α l in the partition function (eq. 4): bounds the mean
    // loss from above.
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

// W and -l are both linear in the weights of the items' ranks. So likelihoods
// and KL, which need no more than partition functions of such sums and their
// derivatives, take them from OrderMoments. The others sum over all orders, in
// a walk through the tree of their prefixes: an order costs little more than
// one addition, not a sort. Reusable; no allocation when warm.
class RankingCrf {
 public:
  static constexpr size_t kMaxItems = OrderMoments::kMaxItems;

  // Returns the objective and overwrites `gradient` with its derivatives by the
  // scores. `gains` >= 0: relevances; where all are 0 every order has loss 0
  // and is a ground truth. Requires 1 to kMaxItems items, all spans of that
  // size, finite scores.
  double Evaluate(std::span<const double> scores, std::span<const double> gains,
                  const CrfObjective& objective, std::span<double> gradient);

  // Of the last Evaluate() of kExpectedLoss, in lexicographic order of the
  // orders; p(σ) too.
  std::span<const double> losses() const {
    return {loss_.data(), static_cast<size_t>(loss_.size())};
  }
  std::span<const double> probabilities() const {
    return {probability_.data(), static_cast<size_t>(probability_.size())};
  }

 private:
  struct Node {
    uint8_t rank;  // Of its last item; n - 1: a whole order.
    uint8_t item;
  };

  void Prepare(size_t n);
  void PrepareTree();
  // sums[i] = Σ_r values[item at rank r] a_r of order i.
  void SumOrders(std::span<const double> values, Eigen::ArrayXd* sums);
  // Overwrites probability_ with exp(logits) / Σ; returns log Σ.
  double Normalise(const Eigen::ArrayXd& logits);
  // Σ_r a_r of the gains in falling order.
  double Ideal(std::span<const double> gains) const;
  // target_[i] = mean over Y0 of the weight of i's rank.
  void TargetTruths(std::span<const double> gains);
  double Likelihood(std::span<const double> scores,
                    std::span<const double> gains, double loss_weight,
                    std::span<double> gradient);
  double Divergence(std::span<const double> scores,
                    std::span<const double> gains, double temperature,
                    std::span<double> gradient);
  double ByOrders(std::span<const double> scores, std::span<const double> gains,
                  CrfObjective::Kind kind, std::span<double> gradient);
  // The objective; derivative_ gets its derivatives by W.
  double Differentiate(CrfObjective::Kind kind);
  void Spread(std::span<double> gradient) const;

  size_t n_ = 0;
  std::vector<Node> tree_;  // Prefixes, in the order of a walk.
  std::vector<double> rank_weights_;
  OrderMoments moments_;
  // By item.
  std::array<double, kMaxItems> shifted_;
  std::array<double, kMaxItems> target_;
  size_t num_walked_ = 0;  // Items of tree_.
  Eigen::ArrayXd weight_;  // W, by order.
  Eigen::ArrayXd loss_;
  Eigen::ArrayXd truth_;  // 1 / |Y0| in Y0, else 0.
  Eigen::ArrayXd probability_;
  Eigen::ArrayXd derivative_;  // By W.
};

}  // namespace sortition
