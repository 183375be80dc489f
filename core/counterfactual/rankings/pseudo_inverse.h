#pragma once
// Weights for values that are linear in which item is at which rank
// [SwaminathanEtAl17]. With 1_a the indicators (item i at rank k) of the first
// L ranks of an order, Γ = E[1_a 1_aᵀ] under the log, and p(i, k) the policy's
// probability of item i at rank k,
//   γ = pᵀ Γ⁺ 1_a.
// If E[R|x, a] = φᵀ 1_a for any φ, then E[γ R] = pᵀ Γ⁺ Γ φ = pᵀ φ is the
// policy's value, as long as p is in the range of Γ. Weights may be negative.
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sortition {

// For a log of orders of L of n candidates that are all equally likely.
struct UniformOrder {
  size_t num_candidates = 0;  // n
  size_t num_ranks = 0;       // L
  // Σ_k p(a_k, k)
  double at_their_ranks = 0;
  // Σ_k P(a_k is among the first L ranks): Σ_k Σ_m p(a_k, m)
  double anywhere = 0;
};

// Returns γ in closed form. For L > 1 and L < n, with S and T the last two
// fields, T' = T - L²/n,
//   γ = 1 + n (n - 1) / (L (n - L)) T' + (n - 1) (S - T/L);
// with L = n the part of T' is not there. Derivation: Γ has the entries 1/n on
// the diagonal, 0 for one item or one rank twice, and 1/(n (n - 1)) elsewhere,
// so that it is (I⊗I)/n + ((J - I)⊗(J - I)) / (n (n - 1)), J all ones. Its
// eigenvalues are L/n for constants; 0 for what depends on the rank alone;
// (n - L) / (n (n - 1)) for what depends on the item alone; and 1/(n - 1) for
// the rest, which L = 1 does not have. The three parts of γ are the
// projections of 1_a and p, divided by these. InvalidArgument if L is not in
// [1, n] or S or T is not in [0, L].
absl::StatusOr<double> UniformPseudoInverseWeight(const UniformOrder& order);

struct PseudoInverseWeight {
  double weight = 0;
  // What the draw of a sample of orders makes uncertain: for S sampled orders
  // s, to first order, the standard deviation of (Γ⁺p·1_s) (Γ⁺1_a·1_s) over
  // √S. 0 for orders that were enumerated. Inverting a sampled Γ has a bias of
  // order 1/S besides.
  double standard_error = 0;
};

class SlateInverse;

// Γ of one query, from all orders that the log could show, or a sample of them.
class SlateMoments {
 public:
  // Inverting takes some (n L)³ operations, 0.1 s at the limit.
  static constexpr size_t kMaxIndicators = 256;  // n L
  static constexpr size_t kMaxEnumerated = 200000;

  // Writes the log's probabilities of the n items at the rank after `above`;
  // 0 for those in `above`.
  using Conditional = std::function<void(std::span<const int> above,
                                         std::span<double> probabilities)>;

  // InvalidArgument if L is not in [1, n], or n L is above the limit.
  static absl::StatusOr<SlateMoments> Create(size_t num_candidates,
                                             size_t num_ranks);
  // All orders of L items, n! / (n - L)! of them: InvalidArgument if these are
  // more than the limit, or if probabilities do not add up to 1.
  static absl::StatusOr<SlateMoments> Enumerate(size_t num_candidates,
                                                size_t num_ranks,
                                                const Conditional& conditional);

  // Adds an order of which at least L ranks are there, as sampled from the log.
  // InvalidArgument if an item is not in [0, n), or twice there.
  absl::Status AddSampled(std::span<const int> order);

  // P(item i is at rank k).
  double marginal(size_t item, size_t rank) const;
  // FailedPrecondition without any order.
  absl::StatusOr<SlateInverse> Invert() const;

 private:
  friend class SlateInverse;
  SlateMoments(size_t num_candidates, size_t num_ranks);
  absl::Status CheckOrder(std::span<const int> order) const;
  void Add(std::span<const int> order, double weight);

  size_t num_candidates_;
  size_t num_ranks_;
  double total_ = 0;
  Eigen::MatrixXd sums_;      // Σ weight · 1_a 1_aᵀ, by item · L + rank.
  std::vector<int> samples_;  // L numbers for each sampled order.
};

// Immutable.
class SlateInverse {
 public:
  // `marginals` has p(i, k) at i · L + k, `order` at least L ranks.
  // InvalidArgument if sizes or items are wrong, a marginal is not in [0, 1],
  // or if the log cannot show (did not show, for a sample) enough for the
  // policy or the order: p or 1_a is not in the range of Γ.
  absl::StatusOr<PseudoInverseWeight> WeightOf(
      std::span<const double> marginals, std::span<const int> order) const;

 private:
  friend class SlateMoments;
  SlateInverse(const SlateMoments& moments, Eigen::MatrixXd second_moments,
               Eigen::MatrixXd inverse);

  SlateMoments moments_;
  Eigen::MatrixXd second_moments_;  // Γ
  Eigen::MatrixXd inverse_;         // Γ⁺
};

}  // namespace sortition
