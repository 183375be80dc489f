#pragma once
// The metrics of `evaluate`, by name. Each is defined as in one source, so that
// figures can be compared with published ones.
//
//   ndcg_letor@k       LETOR 4.0's tool: gain 2^y - 1, no discount for the two
//                      first ranks; k in 1 .. 10. 0 if nothing is relevant.
//   mean_ndcg, map     of the same tool.
//   ndcg_exponential   (2^y - 1) / log2(rank + 2): [JarvelinKekalainen02] with
//                      the gain of web search. 0 if nothing is relevant.
//   ndcg_linear        y / log2(rank + 2): seed 003, eq. 12.
//   ndcg_top, kendall  1 - cost of seed 001, sec. 17.4.1. ndcg_top equals
//                      ndcg_linear. For kendall, equal labels are in random
//                      order as well.
//   pairs              share of the pairs of different relevance in the correct
//                      order; equal scores count half.
//   auc                the same for pairs of a relevant and another candidate.
//   precision@k        number of relevant among the first k, divided by k.
//   mrr                1 / (1 + rank) of the first relevant candidate.
//   sensitivity, specificity, precision, f_beta: seed 001, sec. 17.5.1.
// @k: the first k ranks; without it: all. Each metric is the expectation over
// random orders of the candidates with equal scores, so the order of the file
// does not matter (core/metrics/tied_ranking.h).
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/metrics/tied_ranking.h"
#include "sortition/config/v1/evaluate.pb.h"

namespace sortition {

// A query and its scores: views with one finite score for each candidate.
struct ScoredQuery {
  ScoredQuery(std::span<const uint32_t> all_relevances,
              std::span<const double> all_scores)
      : relevances(all_relevances),
        scores(all_scores),
        ranking(all_scores, all_relevances) {}

  std::span<const uint32_t> relevances;
  std::span<const double> scores;
  TiedRanking ranking;
};

struct OrderMetric {
  std::string name;  // As in the report, such as "ndcg_linear@5".
  // Returns NaN if the query has no value, for example if nothing is relevant.
  std::function<double(const ScoredQuery&)> of;
};

// Returns the metrics that options.metrics names, in the same order, with
// `letor` expanded. InvalidArgument for an unknown name, for a k that is out of
// its range, and for a k where the metric has none.
absl::StatusOr<std::vector<OrderMetric>> MakeOrderMetrics(
    const config::v1::EvaluateOptions& options);

}  // namespace sortition
