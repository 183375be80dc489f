#pragma once
// The sum of the hinges of all pairs of items with different labels (seed 001,
// sec. 17.4.1),
//   Σ over (i, j) with y_i > y_j of max(0, 1 - (s_i - s_j)),
// which is convex in s. Divided by the number of pairs, it is at least the
// share of pairs that the order of s inverts. It is computed in O(n log n + n
// log K) for K labels instead of O(n²): an active pair contributes through its
// two items, and the partners of each item are counted in the order of scores
// [Joachims06].
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sortition {

// The loss of one query. Reusable: allocates nothing once it has met as many
// items.
class PairwiseHinge {
 public:
  // The sum of the hinges of all pairs is `value` = num_active + Σ_i slopes[i]
  // · scores[i].
  struct Sum {
    double num_active = 0;  // Pairs whose hinge is not 0.
    double value = 0;
  };
  // Returns the sum and writes a subgradient with respect to the scores to
  // `slopes`. Requires a finite score and a relevance for each candidate.
  Sum Evaluate(std::span<const double> scores,
               std::span<const uint32_t> relevances, std::span<double> slopes);

 private:
  // Counts how many added indexes are smaller than a given one, with a Fenwick
  // tree.
  class Counts {
   public:
    void Clear(size_t size) { tree_.assign(size + 1, 0); }
    void Add(size_t index);
    uint32_t Below(size_t index) const;

   private:
    std::vector<uint32_t> tree_;
  };

  void RankLevels(std::span<const uint32_t> relevances);

  std::vector<uint32_t> order_;   // Items by decreasing score.
  std::vector<uint32_t> levels_;  // Distinct relevances, ascending.
  std::vector<uint32_t> level_;   // The index in levels_ for each item.
  Counts counts_;
};

// Returns the number of pairs of candidates with different relevances.
uint64_t CountPairs(std::span<const uint32_t> relevances);

}  // namespace sortition
