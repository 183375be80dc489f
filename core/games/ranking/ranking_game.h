#pragma once
// Games whose score is Σ_i D_rank(i) y_i with binary y, such as DCG, DCG@k and
// precision at k [WangXingAsifZiebart15, sec. 3.2]. They are solved exactly in
// O(n log n).
//
// The predictor draws an order, the adversary draws labels y. The expected
// payoff
//   Σ_i (d_i - ψ_i) q_i,  d_i = E[D_rank(i)],  q_i = P(y_i = 1),
// depends on d and q alone. d ranges over Perm(D), the convex hull of the
// orders' discounts: Σd = ΣD, and no sum of j items is above D_1 + .. + D_j.
// Sort by falling ψ, and let v be the isotonic (non-decreasing) regression of
// D_r - ψ_(r), which pools neighbours into blocks of equal v. Then
//   d = ψ + v, and q = 1 where v < 0, else 0,
// are an equilibrium. To see why, let c_j = Σ_{r<=j} (D_r - ψ_(r)), and let ĉ
// be its lower convex envelope, which has the slopes v.
//  - d is in Perm(D): its prefix sums are Σψ + ĉ_j <= Σψ + c_j = ΣD, with
//    equality at the blocks' ends, and it does not increase.
//  - Against d, a q with sum m pays Σ v q, at least the m smallest v: ĉ_m.
//  - If q falls in the order of ψ and is constant within blocks, the best order
//    against it is that of ψ, and Σ D_r q_(r) = Σ d q: no more than Σ v q.
// Hence one d is optimal for every bound on the number of positives, and the
// value for exactly m is ĉ_m. Also d is the projection of ψ on Perm(D)
// [LimWright16], so it moves no faster than ψ.
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "core/games/ranking/discounts.h"
#include "core/games/ranking/keyed_item.h"

namespace sortition {

// Limit of potentials. Sums of larger ones could overflow.
inline constexpr double kMaxPotential = 1e300;

// How many positives the adversary has in expectation: 0 <= fewest <= most <=
// n. `most` may be infinite, which stands for n.
struct PositivesBound {
  double fewest = 0;
  double most = HUGE_VAL;
};

// The items order[start .. start + length), which have the same d - ψ,
// `excess`.
struct PooledBlock {
  int32_t start = 0;
  int32_t length = 0;
  double mean_discount = 0;  // Mean discount of its ranks and d of its items.
  double excess = 0;
};

struct RankingEquilibrium {
  double value = 0;
  std::vector<double> expected_discounts;  // d, by item.
  // q, by item. -q is a supergradient of the value.
  std::vector<double> positive_probabilities;
  // Items by falling ψ, ties by item, up to the end of the blocks. The others,
  // whose d is 0, follow in some reproducible order.
  std::vector<int32_t> order;
  std::vector<PooledBlock> blocks;  // Starting at order[0], without gaps.
};

// The workspace of the solver: use one per thread. Allocates nothing once it
// has solved a game with as many items into the same equilibrium object.
class RankingGame {
 public:
  // psi has one potential per item. Exact except for the rounding errors of
  // differences of ψ, also if ψ is large. InvalidArgument if a potential is not
  // within ±kMaxPotential, or the bound breaks the rule of PositivesBound.
  absl::Status Solve(std::span<const double> psi, const Discounts& discounts,
                     const PositivesBound& positives,
                     RankingEquilibrium* equilibrium);

 private:
  struct Block {
    int32_t start;
    int32_t length;
    double discounts;  // Σ D
    double drops;  // Σ (ψ_start - ψ), which is small even if ψ is large.
    double first;  // d of the first item.
  };

  void Pool(const Discounts& discounts);
  // Returns whether a block whose first item is at `rank` and has d = `first`
  // belongs to the last block.
  bool MustPool(size_t rank, double first) const;
  void Append(size_t rank, double discount);
  void WritePredictor(const Discounts& discounts,
                      RankingEquilibrium* equilibrium) const;
  // Writes q. Reorders the items that are in no block.
  void WriteAdversary(const PositivesBound& positives,
                      RankingEquilibrium* equilibrium);

  std::vector<KeyedItem> items_;  // By rank.
  std::vector<KeyedItem> buffer_;
  std::vector<Block> blocks_;
};

// InvalidArgument naming the first potential that is not within ±kMaxPotential.
absl::Status CheckPotentials(std::span<const double> psi);
absl::Status CheckPositives(const PositivesBound& positives, size_t num_items);

}  // namespace sortition
