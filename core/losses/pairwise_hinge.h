#pragma once
// Hinges of all pairs of items that their labels order (seed 001, sec. 17.4.1),
//   Σ over (i, j) with y_i > y_j of max(0, 1 - (s_i - s_j)),
// convex in s. Over the number of pairs it is at least the share of them that
// the order of s has the wrong way round. In O(n log n + n log K) for K labels,
// not O(n²): an active pair counts by its ends, and how many partners each has
// is counted in the order of scores [Joachims06].
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sortition {

// Loss of one query. Workspace: allocates nothing once it has met as many.
class PairwiseHinge {
 public:
  // Σ of the hinges of all pairs = num_active + Σ_i slopes[i] · scores[i], and
  // `slopes` is a subgradient of it by the scores. One score and relevance for
  // each candidate; scores finite.
  struct Sum {
    double num_active = 0;  // Pairs whose hinge is not 0.
    double value = 0;
  };
  Sum Evaluate(std::span<const double> scores,
               std::span<const uint32_t> relevances, std::span<double> slopes);

 private:
  // How many of those added have a smaller index: Fenwick's tree.
  class Counts {
   public:
    void Clear(size_t size) { tree_.assign(size + 1, 0); }
    void Add(size_t index);
    uint32_t Below(size_t index) const;

   private:
    std::vector<uint32_t> tree_;
  };

  void RankLevels(std::span<const uint32_t> relevances);

  std::vector<uint32_t> order_;   // Items by falling score.
  std::vector<uint32_t> levels_;  // Distinct relevances, ascending.
  std::vector<uint32_t> level_;   // Of each item, its index in levels_.
  Counts counts_;
};

// Pairs of a query: of candidates with different relevances.
uint64_t CountPairs(std::span<const uint32_t> relevances);

}  // namespace sortition
