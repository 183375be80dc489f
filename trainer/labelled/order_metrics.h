#pragma once
// The metrics of `evaluate`, by name: each as one source defines it, so that
// figures can be compared with published ones.
//
//   ndcg_letor@k       LETOR 4.0's tool: 2^y - 1, the first two ranks not
//                      discounted; k in 1 .. 10. 0 where nothing is relevant.
//   mean_ndcg, map     of the same tool.
//   ndcg_exponential   2^y - 1 over log2(rank + 2), [JarvelinKekalainen02] with
//                      the gain of web search. 0 where nothing is relevant.
//   ndcg_linear        y over log2(rank + 2), seed 003, eq. 12.
//   ndcg_top, kendall  1 - cost of seed 001, sec. 17.4.1, by rank numbers:
//   equal
//                      scores and equal labels in the order of the file, last
//                      first.
//   pairs              share of the pairs of different relevance in the correct
//                      order, equal scores counting half.
//   auc                the same of relevant and other candidates.
//   precision@k        relevant among the first k, over k.
//   sensitivity, specificity, precision, f_beta: seed 001, sec. 17.5.1.
// @k: the first k ranks; without: all. Equal scores are in the order of the
// file but for ndcg_top and kendall.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sortition/config/v1/evaluate.pb.h"

namespace sortition {

// A query with its scores: views, one each per candidate, finite.
struct ScoredQuery {
  std::span<const uint32_t> relevances;
  std::span<const double> scores;
};

struct OrderMetric {
  std::string name;  // As in the report: "ndcg_linear@5".
  // Returns NaN if the query has no value, for example if nothing is relevant.
  std::function<double(const ScoredQuery&)> of;
};

// Returns the metrics that options.metrics names, in its order, `letor`
// expanded. InvalidArgument for an unknown name, and for a k where there is
// none or it is out of its range.
absl::StatusOr<std::vector<OrderMetric>> MakeOrderMetrics(
    const config::v1::EvaluateOptions& options);

}  // namespace sortition
