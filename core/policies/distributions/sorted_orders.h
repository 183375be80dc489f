#pragma once
// The order of m candidates by falling score (ties go to the lower position),
// explored in one of three ways:
//  - shuffle, with probability φ: its first t ranks in uniformly random order,
//    then the others as sorted;
//  - pairs from rank 0 or from rank 1 on, with probability (1-φ)/2 each
//    (FairPairs [RadlinskiJoachims06]): ranks r and r+1 of a pair, with the
//    scores s_a >= s_b, swap independently of the other pairs with probability
//    q_r = 2 w σ(α (s_b - s_a)), which is w for a tie.
// The paper swaps with probability 1/2 whatever the scores are; w = 1/2 and α
// near 0 are that.
//
// φ and q are rounded to the grid of the random numbers, q to a multiple of
// 2^-52 and φ of 2^-51, so that each way and each swap happens exactly as often
// as is logged. A swap of a probability below 2^-53 is impossible, and logged
// so.
//
// The probability of first ranks is that of all orders that begin with them. It
// is computed rank by rank, as a filter over the three ways: the conditional
// probability of rank r is the mean of those of the ways, weighted by how
// probable each is after ranks 0 .. r-1. Given a way, a rank depends only on
// the one above it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/random.h"

namespace sortition {

struct SortedLaw {
  double alpha = 1;
  double swap_probability = 0;     // w, in [0, 1/2].
  double shuffle_probability = 0;  // φ, in [0, 1].
  uint32_t shuffle_ranks = 0;      // t; all ranks where there are fewer.
};

// Reusable; no allocation when warm. Costs O(m + k log k) for k ranks, and O(t
// log t) where φ > 0.
class SortedOrders {
 public:
  // Prepares to draw the first top_k ranks, in [1, m].
  void Build(const SortedLaw& law, std::span<const double> scores,
             uint32_t top_k);

  // The other functions require Build().

  // Chooses the way by number `way_number` of `random`. Number 2 · first_block
  // + r then decides on the pair whose upper rank is r, or is the key of rank r
  // in the shuffle.
  void Draw(const CounterRandom& random, uint32_t way_number,
            uint32_t first_block, std::vector<int32_t>* order);

  // Writes log p of each rank given those above; -infinity from the first rank
  // on whose candidate is impossible there. Requires top_k different positions.
  void ConditionalLogPropensities(std::span<const int32_t> order,
                                  std::vector<double>* conditionals) const;

  // Adds scale · P(the candidate comes first), by position.
  void AddFirstProbabilities(double scale,
                             std::span<double> probabilities) const;

 private:
  // Ways 0 and 1: pairs begin at that rank.
  static constexpr size_t kShuffle = 2;
  static constexpr size_t kWays = 3;

  // Returns the log-probability, in a way that allows the ranks above, of what
  // `order` has at `rank`.
  double LogNext(size_t way, std::span<const int32_t> order, size_t rank) const;
  double LogNextOfPairs(size_t begin, std::span<const int32_t> order,
                        size_t rank) const;

  uint32_t top_k_ = 1;
  double shuffle_ = 0;          // φ on the grid.
  uint32_t shuffle_ranks_ = 0;  // At most m; 0 where φ = 0.
  std::array<double, kWays> log_ways_ = {};
  // The positions at the first ranks as sorted: one more than top_k, or the
  // shuffled ones where these are more.
  std::vector<int32_t> sorted_;
  std::vector<double> swaps_;         // q_r of r < top_k; 0 for the last rank.
  std::vector<uint8_t> is_shuffled_;  // By position; empty where φ = 0.
  std::vector<double> numbers_;
  std::vector<int32_t> shuffled_;
};

}  // namespace sortition
