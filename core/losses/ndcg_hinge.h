#pragma once
// Loss-augmented inference for NDCG (seed 001, sec. 17.4.2): of all orders,
//   H = max_σ  Δ(σ, y) + Σ_i (v_i - v̄_i) s_i,  Δ = 1 - G(σ, y) / G(y, y),
// where v_i is the rank number of item i, n for the first rank and 1 for the
// last; v̄ has the rank numbers of the labels' order; and G = Σ_i D(rank of i)
// y_i with D(r) = 1 / log2(r + 2) below the cutoff. H is convex in s and at
// least the loss of the order of s. Moving an item one rank down costs its
// score.
//
// In v̄, items with equal labels are in the order of their scores, not in that
// of the file (definition 17.5, "completely arbitrary"). They are in the same
// order in the best σ, since exchanging two of them changes only Σ v s. The
// rest of the sum is over pairs of different labels that σ inverts:
//   H = max_σ  Δ(σ, y) + Σ_{y_i > y_j, j above i in σ} (s_j - s_i),
// This is still a maximum of linear functions [YueEtAl07], so convex, and less
// than with any fixed v̄: differences between scores of equal labels cost
// nothing. If v̄ used the order of the file, or the mean over all orders, the
// minimum for noisy labels would be w = 0.
//
// With two labels, orders are merges of two sorted lists, and the best one is
// found in O(n_0 n_1). Otherwise it is found as an assignment of items to
// ranks.
#include <cstdint>
#include <span>
#include <vector>

#include "core/losses/assignment.h"

namespace sortition {

// Reusable: allocates nothing once it has met as many items.
class NdcgHinge {
 public:
  struct Answer {
    double value = 0;  // H, at least 0.
    double loss = 0;   // Δ of the order.
  };

  // Returns H and Δ of the best order, and overwrites `slopes` with v_i - v̄_i,
  // a subgradient of H with respect to the scores. Requires finite scores and
  // as many gains y >= 0. cutoff = 0: all ranks. If all gains are 0, Δ is 0 for
  // all orders.
  Answer Evaluate(std::span<const double> scores, std::span<const double> gains,
                  size_t cutoff, std::span<double> slopes);

  // The item at each rank of the best order of the last Evaluate().
  std::span<const uint32_t> order() const { return order_; }

 private:
  void SortItems(std::span<const double> scores, std::span<const double> gains);
  // Both fill order_.
  void Merge(std::span<const double> scores, std::span<const double> gains,
             size_t num_high);
  void Assign(std::span<const double> scores, std::span<const double> gains);
  // Finds an order and prices for Assign() to start from.
  void Start(std::span<const double> scores, std::span<const double> gains);
  // Finds an order that no exchange of two neighbours improves, starting at the
  // first or at the last rank. Returns its value up to a constant.
  double FillRanks(std::span<const double> scores,
                   std::span<const double> gains, bool from_last,
                   std::vector<uint32_t>* order);
  // Returns the additional cost of an item that moves from `rank` to rank + 1:
  //   k_i(rank) = s_i - (D(rank) - D(rank + 1)) gain_i.
  double StepDown(double score, double gain, size_t rank) const {
    return score - (discounts_[rank] - discounts_[rank + 1]) * gain;
  }

  size_t n_ = 0;
  std::vector<double> discounts_;  // D(r) / G(y, y) for each rank r.
  std::vector<uint32_t> items_;    // By decreasing gain, then score.
  std::vector<uint32_t> order_;
  std::vector<uint32_t> places_;  // The rank of each index in items_.
  std::vector<uint8_t> choice_;   // For Merge(): [high taken][low taken].
  std::vector<double> best_;
  std::vector<double> prices_;
  // The items that are left for each label in FillRanks().
  std::vector<uint32_t> begins_, ends_;
  std::vector<uint32_t> other_order_, ranks_;  // For Start().
  Assignment assignment_;
};

}  // namespace sortition
