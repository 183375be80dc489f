#pragma once
// The probabilities of the first ranks of one order under Plackett-Luce mixed
// with uniform, for every number r of ranks, and their gradients by the logits:
//   h_r = (1-ε) p_r + ε (n-r)!/n!,  p_r = Π_{j < r} exp(l_{y_j} - L_j),
//   L_j = log Σ exp(l) over what is left at rank j.
// The mixture is one of whole orders: the probability of a rank given those
// above is h_{r+1} / h_r, in which the policy counts as much as it is likely to
// have drawn the ranks above, π_r = (1-ε) p_r / h_r.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/log_mixture.h"
#include "core/policies/distributions/distribution_scratch.h"
#include "core/policies/distributions/ranking_distribution.h"

namespace sortition {

// Reuses its buffers. Not thread-safe.
class PrefixLaw {
 public:
  // Requires ε in [0, 1].
  explicit PrefixLaw(double uniform_mixture)
      : mixture_(uniform_mixture), plackett_luce_(1, 0) {}

  // Computes the probabilities of the first ranks of an order of logits.size()
  // candidates. Both views must stay as they are while the other functions are
  // used. Returns false, and -infinity for all of them, where logits are beyond
  // the limit of rankings.
  bool Evaluate(std::span<const double> logits, std::span<const int32_t> order);

  // log h_r, r <= order.size(); that of 0 ranks is 0.
  double log_prefix(size_t r) const { return log_prefixes_[r]; }
  // π_r
  double policy_posterior(size_t r) const { return posteriors_[r]; }
  // Whether a position is among the ranks of the order before r.
  bool IsAbove(size_t position, size_t r) const { return ranks_[position] < r; }
  // Writes exp(l - L_r) of all candidates that are left at rank r, 0 for the
  // others: what Plackett-Luce alone puts there. Requires r < order.size().
  void PolicyConditionals(size_t r, std::span<double> probabilities) const;

  // Adds the derivatives by the logits of
  //   Σ_r prefix_factors[r] log h_r + policy_factors[r] log p_r,
  // r <= order.size(). `policy_factors` may be empty: 0.
  void AddGradient(std::span<const double> prefix_factors,
                   std::span<const double> policy_factors,
                   std::span<double> gradient);

 private:
  LogMixture mixture_;
  RankingDistribution plackett_luce_;
  std::span<const double> logits_;
  std::span<const int32_t> order_;
  bool is_possible_ = true;
  std::vector<double> log_policy_;  // log p of each rank given those above.
  std::vector<double> log_sums_;    // L
  std::vector<double> log_prefixes_;
  std::vector<double> posteriors_;
  std::vector<uint32_t> ranks_;  // By position; the order's size if not in it.
  std::vector<double> factors_;
  DistributionScratch scratch_;
};

}  // namespace sortition
