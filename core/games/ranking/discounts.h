#pragma once
// The worth of ranks: the discounts D of DCG and similar measures. A relevant
// item at rank r adds D_r to the score.
#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace sortition {

// Discounts are finite, at least 0, and do not increase with rank. Ranks beyond
// size() are worth 0, so that DCG@k has k discounts however many items there
// are. Immutable.
class Discounts {
 public:
  // InvalidArgument if a discount is negative, not finite, or above the one
  // before it.
  static absl::StatusOr<Discounts> Create(std::vector<double> by_rank);

  // D_r = 1 / log2(r + 2), with ranks from 0 [JarvelinKekalainen02]. DCG@k has
  // k ranks; DCG of n items has n.
  static Discounts Dcg(size_t num_ranks);
  // The variant of LETOR: 1, then 1 / log2(r + 1) (1, 1, 0.63, ...)
  // [WangXingAsifZiebart15, sec. 4].
  static Discounts Letor(size_t num_ranks);
  // Precision at k: 1 / k for each of k ranks. InvalidArgument for k = 0.
  static absl::StatusOr<Discounts> PrecisionAt(size_t k);

  // Returns these discounts times `factor`. This gives DCG with a normaliser
  // that is constant in a query, such as NDCG for known labels. InvalidArgument
  // unless the factor is finite and above 0.
  absl::StatusOr<Discounts> ScaledBy(double factor) const;

  // Returns the discounts for rankings of num_items items that are uniform with
  // probability epsilon and otherwise drawn from a policy. If the policy has
  // the expected discounts d under these discounts, then (1-ε) d + ε mean are
  // expected discounts under the returned ones, and vice versa. A game with
  // them is the game over all policies that explore this much. InvalidArgument
  // unless 0 <= epsilon < 1 and num_items > 0.
  absl::StatusOr<Discounts> MixedWithUniform(double epsilon,
                                             size_t num_items) const;

  // Converts the mixture's expected discounts into the policy's d, in place.
  // Requires that the game was played with MixedWithUniform(epsilon,
  // values.size()).
  void TakeOutUniform(double epsilon, std::span<double> values) const;

  // Returns D_rank; 0 beyond the last rank.
  double operator[](size_t rank) const {
    return rank < by_rank_.size() ? by_rank_[rank] : 0;
  }
  // Returns the number of ranks that are worth more than 0.
  size_t size() const { return by_rank_.size(); }
  std::span<const double> by_rank() const { return by_rank_; }
  // Returns the mean over the first num_items ranks; 0 if num_items is 0.
  double Mean(size_t num_items) const;

 private:
  explicit Discounts(std::vector<double> by_rank);

  std::vector<double> by_rank_;
};

}  // namespace sortition
