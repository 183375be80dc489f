#pragma once
// What a rank is worth: the discounts D of DCG and its kin. A relevant item at
// rank r adds D_r.
#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace sortition {

// Finite, at least 0, not increasing by rank. Ranks beyond size() are worth 0,
// so that DCG@k has k discounts however many items there are. Immutable.
class Discounts {
 public:
  // InvalidArgument where by_rank is not as said.
  static absl::StatusOr<Discounts> Create(std::vector<double> by_rank);

  // D_r = 1 / log2(r + 2), ranks from 0 [JarvelinKekalainen02]; DCG@k has k
  // ranks, DCG of n items n.
  static Discounts Dcg(size_t num_ranks);
  // LETOR's variant: 1, then 1 / log2(r + 1) (1, 1, 0.63, ...)
  // [WangXingAsifZiebart15, sec. 4].
  static Discounts Letor(size_t num_ranks);
  // Precision at k: 1 / k for each of k ranks. InvalidArgument for k = 0.
  static absl::StatusOr<Discounts> PrecisionAt(size_t k);

  // Every discount times `factor`: DCG with a normaliser that is constant in a
  // query, as NDCG with that of known labels. InvalidArgument unless the factor
  // is finite and above 0.
  absl::StatusOr<Discounts> ScaledBy(double factor) const;

  // Those of a ranking of num_items items that is uniform with probability
  // epsilon and else drawn from a policy: whatever expected discounts d that
  // policy has under these ones, the mixture's, (1-ε) d + ε mean, are expected
  // discounts under the ones returned, and the other way round. A game with
  // them is the game over all policies that explore so much.
  // InvalidArgument unless 0 <= epsilon < 1 and num_items > 0.
  absl::StatusOr<Discounts> MixedWithUniform(double epsilon,
                                             size_t num_items) const;

  // The policy's d from the mixture's expected discounts, in place. Requires
  // mixed = MixedWithUniform(epsilon, values.size()) to have been the game's.
  void TakeOutUniform(double epsilon, std::span<double> values) const;

  // Of rank r, 0 beyond the last.
  double operator[](size_t rank) const {
    return rank < by_rank_.size() ? by_rank_[rank] : 0;
  }
  // As many ranks as are worth more than 0.
  size_t size() const { return by_rank_.size(); }
  std::span<const double> by_rank() const { return by_rank_; }
  // Of the first num_items ranks; 0 where there are none.
  double Mean(size_t num_items) const;

 private:
  explicit Discounts(std::vector<double> by_rank);

  std::vector<double> by_rank_;
};

}  // namespace sortition
