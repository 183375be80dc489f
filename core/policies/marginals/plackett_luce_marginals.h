#pragma once
// Rank marginals of Plackett-Luce orders, exactly:
//   m[d][k] = P(candidate d is at rank k),  k < top_k.
//
// An order sorts independent arrival times T_d ~ Exp(e^{l_d}), l = α s
// (exponential races; T = e^{-Gumbel}). Given T_d = t, the number of others
// before d is Poisson-binomial with p_j = 1 - exp(-t e^{l_j}), hence
//   m[d][k] = ∫ x e^{-x} P(Σ_{j ≠ d} 1{T_j < t} = k) du,  t = e^u, x = t
//   e^{l_d}.
// Rank 0 is the softmax of the logits. The others use the trapezoidal rule in
// u with step h. For t = τ e^{iθ},
//   |1 - e^{-rt}| <= (1 - e^{-rτ cos θ}) / cos θ,
// so that the integral of the absolute value along Im u = ±θ is at most
// cos(θ)^{-(k+1)} m[d][k], and the rule's relative error [TrefethenWeideman14,
// Theorem 5.1] is at most, whatever the logits and n,
//   2 cos(θ)^{-(k+1)} / (e^{2πθ/h} - 1)  for every θ in (0, π/2).
// h is the largest that keeps the best of these bounds below the tolerance.
// What the range of u leaves out has the probability that two have arrived at
// its begin, or fewer than top_k at its end. Where no candidate is about to
// arrive, nodes are skipped.
//
// Cost: O(Q n top_k), Q nodes; Q is about 90 + 5.5 (l_max - l_min) for the
// default tolerance and top_k 10. Marginals are computed, not drawn: their last
// bits do not decide anything, unlike those of propensities.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/policies/marginals/arrival_counts.h"

namespace sortition {

// Reuses its buffers; every thread needs its own.
class PlackettLuceMarginals {
 public:
  // `tolerance`, in [1e-14, 1e-3], bounds the absolute error of a marginal, but
  // for rounding, which is below 1e-13 for n to 1,000. Every digit less saves
  // some nodes.
  explicit PlackettLuceMarginals(double tolerance = 1e-12);

  // Writes m[d][k] at [k * n + d], n = logits.size(): Σ_d m[d][k] = 1 and Σ_k
  // m[d][k] <= 1. Requires finite logits within ±1e9, n >= 1, 1 <= top_k <= n
  // and top_k * n marginals.
  void Compute(std::span<const double> logits, size_t top_k,
               std::span<double> marginals);

  // Returns Σ coefficients[k * n + d] m[d][k] and writes its derivatives by the
  // logits, in reverse mode. The number of coefficients, a multiple of n,
  // decides top_k; last rows of zeros cost nothing.
  double Differentiate(std::span<const double> logits,
                       std::span<const double> coefficients,
                       std::span<double> gradient);

  // Nodes that the last call used.
  size_t num_nodes() const { return num_nodes_; }

 private:
  // Sorts the logits and writes the softmax of them.
  void Sort(std::span<const double> logits);
  // Calls visit(first, count, ranks) at every node that matters for ranks from
  // 1 on: candidates before `first`, in order of their logits, have arrived,
  // and the next `count` ones may have, with counts_ for as many ranks.
  template <typename Visit>
  void ForEachNode(size_t top_k, const Visit& visit);
  // Fills x_, p_, q_ and densities_ for one node, and counts_.
  void Arrive(double log_time, size_t first, size_t count, size_t ranks);

  double tolerance_;
  double step_ = 0;
  size_t num_nodes_ = 0;
  std::vector<uint32_t> places_;  // Positions by falling logit.
  std::vector<double> logits_;    // In this order, as the following.
  std::vector<double> first_;     // m[d][0]
  double log_sum_ = 0;            // log Σ e^l
  // Of one node, for the candidates that may arrive.
  std::vector<double> x_;
  std::vector<double> p_;
  std::vector<double> q_;          // e^{-x}
  std::vector<double> densities_;  // x e^{-x}
  ArrivalCounts counts_;
  // Of a whole call, by falling logit.
  std::vector<double> sums_;
  std::vector<double> coefficients_;
  std::vector<double> gradient_;
  std::vector<double> factors_;
  std::vector<double> slopes_;
};

// Replaces marginals of a policy by those of its mixture with uniform orders of
// n candidates: (1-ε) m + ε / n.
void MixMarginals(double epsilon, size_t n, std::span<double> marginals);

}  // namespace sortition
