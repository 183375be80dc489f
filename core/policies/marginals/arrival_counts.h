#pragma once
// How many of n independent events have happened: Poisson-binomial
// distributions, with each event left out in turn. Event j has probability p_j.
//   A[d][k] = P(Σ_{j ≠ d} 1{event j} = k),  d < n, k < ranks.
//
// All A come from their common product P(z) = Π_j (q_j + p_j z), q = 1 - p.
// Where p_d <= 1/2, its factor is divided out,
//   A[d][k] = (P[k] - p_d A[d][k-1]) / q_d,
// which multiplies errors by p_d / q_d <= 1 from one k to the next. Of the
// other events no more than a few times `ranks` can have happened where small
// counts still matter; for them products are made without division, by halves:
// those of one half start from the product with all of the other half.
// Absolute errors are of the order of 1e-16. Costs O(n · ranks) and O(L log L ·
// ranks) for the L events with p > 1/2.
#include <cstddef>
#include <span>
#include <vector>

namespace sortition {

// Reuses its buffers. Not thread-safe.
class ArrivalCounts {
 public:
  // Requires p in [0, 1] not increasing, q[j] = 1 - p[j] (given because p may
  // be next to 1), n >= 1 and ranks >= 1. Both must stay as they are while the
  // other functions are used.
  void Build(std::span<const double> p, std::span<const double> q,
             size_t ranks);

  // P[k], k < ranks: how many of all events happened.
  std::span<const double> counts() const { return all_; }
  // A[d][k] at [k * n + d].
  std::span<const double> others() const { return others_; }

  // Adds to gradient[j] the derivative by p_j of Σ factors[k * n + d] A[d][k],
  // in reverse mode, at the same order of cost.
  void AddGradient(std::span<const double> factors, std::span<double> gradient);

 private:
  // Write, or go back from, the A of the likely events [begin, end), given the
  // product of all other events.
  void Split(size_t begin, size_t end, std::span<const double> product);
  void AddSplitGradient(size_t begin, size_t end,
                        std::span<const double> product,
                        std::span<const double> factors,
                        std::span<double> gradient,
                        std::span<double> product_gradient);
  // Adds to `product_gradient` and to `gradient` what comes back through the
  // events [begin, end) as seen from the other half, [other_begin, other_end).
  void AddHalfGradient(size_t begin, size_t end, size_t other_begin,
                       size_t other_end, std::span<const double> product,
                       std::span<const double> factors,
                       std::span<double> gradient,
                       std::span<double> product_gradient);
  void DivideOut();
  void AddDivisionGradient(std::span<const double> factors,
                           std::span<double> gradient);
  void AddBaseGradient(std::span<const double> base_gradient,
                       std::span<double> gradient) const;

  // Returns `size` numbers of the stack; Pop() gives them back.
  std::span<double> Push(size_t size);
  void Pop(size_t size) { used_ -= size; }

  std::span<const double> p_;
  std::span<const double> q_;
  size_t ranks_ = 0;
  size_t likely_ = 0;             // Events with p > 1/2 come first.
  std::vector<double> base_;      // Product of the unlikely events.
  std::vector<double> all_;       // Product of all.
  std::vector<double> others_;    // A
  std::vector<double> inverses_;  // 1 / q of the unlikely events.
  std::vector<double> slopes_;    // ∂V / ∂P[k] that comes from each A[d].
  std::vector<double> stack_;
  size_t used_ = 0;
};

}  // namespace sortition
