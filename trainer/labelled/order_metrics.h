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
//   average_precision  mean over the relevant candidates of the precision at
//                      their rank: trec_eval's map.
//   precision@k        number of relevant among the first k, divided by k.
//   recall@k           share of the relevant that are among the first k.
//   success@k          1 if one of the first k is relevant, else 0.
//   mrr[@k]            1 / (1 + rank) of the first relevant candidate.
//   sensitivity, specificity, precision, f_beta: seed 001, sec. 17.5.1.
//   jaccard, hamming_loss, subset_accuracy: of the set above the threshold.
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
  // `unranked`: relevances of judged candidates without a score.
  ScoredQuery(std::span<const uint32_t> all_relevances,
              std::span<const double> all_scores,
              std::span<const uint32_t> unranked = {})
      : relevances(all_relevances),
        scores(all_scores),
        ranking(all_scores, all_relevances, unranked) {}

  // Returns whether a candidate, scored or not, has at least that relevance.
  bool HasRelevant(uint32_t relevant_from) const;

  std::span<const uint32_t> relevances;
  std::span<const double> scores;
  TiedRanking ranking;
};

struct OrderMetric {
  std::string name;        // As in the report, such as "ndcg_linear@5".
  bool is_of_set = false;  // Whether it depends on options.threshold.
  // Returns NaN if the query has no value, for example if nothing is relevant.
  std::function<double(const ScoredQuery&)> of;
};

// Returns the metrics that options.metrics names, in the same order, with
// groups expanded. InvalidArgument for an unknown name, for a k that is out of
// its range, for a k where the metric has none, and, with format trec, for a
// metric that needs a score of every judged document.
absl::StatusOr<std::vector<OrderMetric>> MakeOrderMetrics(
    const config::v1::EvaluateOptions& options);

}  // namespace sortition
