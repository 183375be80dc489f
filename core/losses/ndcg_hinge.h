#pragma once
// Loss-augmented inference for NDCG (seed 001, sec. 17.4.2): of all orders,
//   H = max_σ  Δ(σ, y) + Σ_i (v_i - v̄_i) s_i,  Δ = 1 - G(σ, y) / G(y, y),
// v_i the rank number of item i, n for the first rank and 1 for the last, v̄
// that of the labels' order, G = Σ_i D(rank of i) y_i with D(r) = 1 / log2(r +
// 2) below the cutoff. It is at least the loss of the order of s, convex in s,
// and the price for putting an item a rank too low is its score.
//
// In v̄ items of one label are in the order of their scores, not in that of the
// file (definition 17.5, "completely arbitrary"). Items of one label are so in
// the best σ, too: exchanging two changes Σ v s alone. What is left of the sum
// is over pairs of different labels that σ has the wrong way round,
//   H = max_σ  Δ(σ, y) + Σ_{y_i > y_j, j above i in σ} (s_j - s_i),
// still a maximum of linear functions [YueEtAl07], so convex, and less than
// with any fixed v̄: scores of one label may differ as they like. With v̄ of the
// file's order, or of the mean over orders, w = 0 is the minimum for labels
// with noise.
//
// With two labels, orders are merges of two sorted lists, and the best is found
// in O(n_0 n_1); otherwise by the assignment of items to ranks.
#include <cstdint>
#include <span>
#include <vector>

#include "core/losses/assignment.h"

namespace sortition {

// Reusable; no allocation when warm.
class NdcgHinge {
 public:
  struct Answer {
    double value = 0;  // Of the maximum; at least 0.
    double loss = 0;   // Δ of the order.
  };

  // Overwrites `slopes` with v_i - v̄_i, a subgradient of H by the scores.
  // Requires finite scores, as many gains y >= 0; cutoff 0: all ranks. Where
  // all gains are 0, Δ is 0 for all orders.
  Answer Evaluate(std::span<const double> scores, std::span<const double> gains,
                  size_t cutoff, std::span<double> slopes);

  // item by rank, of the last Evaluate().
  std::span<const uint32_t> order() const { return order_; }

 private:
  void SortItems(std::span<const double> scores, std::span<const double> gains);
  // Fill order_.
  void Merge(std::span<const double> scores, std::span<const double> gains,
             size_t num_high);
  void Assign(std::span<const double> scores, std::span<const double> gains);
  // Order and prices for Assign() to start from.
  void Start(std::span<const double> scores, std::span<const double> gains);
  // An order that no change of two neighbours makes better, found from the
  // first rank on or from the last. Returns its value, but for a constant.
  double FillRanks(std::span<const double> scores,
                   std::span<const double> gains, bool from_last,
                   std::vector<uint32_t>* order);
  // What an item that is put a rank lower, to rank + 1, costs more:
  //   k_i(rank) = s_i - (D(rank) - D(rank + 1)) gain_i.
  double StepDown(double score, double gain, size_t rank) const {
    return score - (discounts_[rank] - discounts_[rank + 1]) * gain;
  }

  size_t n_ = 0;
  std::vector<double> discounts_;  // D(r) / G(y, y), by rank.
  std::vector<uint32_t> items_;    // By falling gain, then score.
  std::vector<uint32_t> order_;
  std::vector<uint32_t> places_;  // Ranks, by index in items_.
  std::vector<uint8_t> choice_;   // Of Merge(): [high taken][low taken].
  std::vector<double> best_;
  std::vector<double> prices_;
  // Of Start().
  std::vector<uint32_t> begins_, ends_;  // Of the items left, by label.
  std::vector<uint32_t> other_order_, ranks_;
  Assignment assignment_;
};

}  // namespace sortition
