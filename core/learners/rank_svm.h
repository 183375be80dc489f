#pragma once
// RankSVM [Joachims02]: linear scores s = w·x that put the candidates of each
// query in the order of their relevances,
//   min_w  λ/2 ‖w‖² + mean over pairs (i, j) of max(0, 1 - (s_i - s_j)),
// pairs of a query with relevance_i > relevance_j; the mean over all pairs, or
// over queries and in each over its pairs.
//
// The hinge is kept as it is: of so many pairs it is nearly smooth, so L-BFGS
// goes far, and its subgradients bound the minimum as one-slack cutting planes
// do [Joachims06]. Loss and subgradient cost O(n log n + n log K) for a query
// of n candidates with K relevances, not O(n²): an active pair counts by its
// ends, and how many partners each has is counted in the order of scores.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/learners/bundled_objective.h"
#include "core/learners/certified_descent.h"
#include "core/learners/game_queries.h"
#include "sortition/config/v1/learner.pb.h"

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

struct RankSvmResult {
  std::vector<double> weights;
  uint64_t num_pairs = 0;
  DescentResult descent;
};

// Of one lambda; that in the options is not used. Deterministic. `queries` need
// not be valid: InvalidArgument as CheckQueries(), for lambda or an option out
// of its range, and where no query has a pair. `watcher` may be empty; true
// stops.
absl::StatusOr<RankSvmResult> TrainRankSvm(
    std::span<const GameQuery> queries, double lambda,
    const config::v1::RankSvmOptions& options,
    const DescentWatcher& watcher = nullptr);

}  // namespace sortition
