#pragma once
// RankSVM [Joachims02]: linear scores s = w·x that put the candidates of each
// query in the order of their relevances,
//   min_w  λ/2 ‖w‖² + mean over pairs (i, j) of max(0, 1 - (s_i - s_j)),
// over pairs of a query with relevance_i > relevance_j. The mean is over all
// pairs, or over queries of the mean over each query's pairs.
//
// The hinge is not smoothed: the sum over so many pairs is nearly smooth, so
// L-BFGS gets far, and its subgradients bound the minimum as one-slack cutting
// planes do [Joachims06]. Loss and subgradient cost O(n log n + n log K) for a
// query of n candidates with K relevances, not O(n²): an active pair
// contributes through its two candidates, and the partners of each are counted
// in the order of scores. Trusted orders add weight · D(w), with their own
// planes (trusted_orders.h).
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/labelled_items.h"
#include "core/data/labelled_queries.h"
#include "core/learners/labelled/trusted_orders.h"
#include "core/losses/pairwise_hinge.h"
#include "core/optim/bundled_objective.h"
#include "core/optim/certified_descent.h"
#include "sortition/config/v1/orders.pb.h"

namespace sortition {

struct RankSvmResult {
  std::vector<double> weights;
  uint64_t num_pairs = 0;
  DescentResult descent;
};

// Trains at `lambda`, ignoring options.lambda. Deterministic. `queries` need
// not be valid: InvalidArgument for the reasons of CheckQueries(), if lambda or
// an option is out of its range, and if no query has a pair. `watcher` may be
// empty; it stops training by returning true. `pull` must have orders of
// `queries`.
absl::StatusOr<RankSvmResult> TrainRankSvm(
    std::span<const LabelledItems> queries, double lambda,
    const config::v1::RankSvmOptions& options,
    const DescentWatcher& watcher = nullptr, const OrderPull& pull = {});

}  // namespace sortition
