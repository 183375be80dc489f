#pragma once
// Measures of one order as the evaluation tool of LETOR 4.0 defines them:
// gain 2^relevance - 1, discounts 1, 1, 1/log2(3), 1/log2(4), .. by rank, of
// which the first two are equal; relevant is what has relevance 1 or more.
// ranking_metrics.h has the discounts of [JarvelinKekalainen02].
#include <cstdint>
#include <span>
#include <vector>

namespace sortition {

struct LetorMetrics {
  std::vector<double> ndcg;       // [k - 1]: NDCG@k, k = 1 .. 10.
  std::vector<double> precision;  // [k - 1]: P@k, k = 1 .. 10.
  double mean_ndcg = 0;           // Of NDCG@k, k = 1 .. n.
  double average_precision = 0;   // Mean P@r over the ranks r of relevant ones.
};

// `relevances` of all n >= 1 candidates in rank order. Without a relevant one
// everything is 0. Ranks beyond n add nothing: NDCG@k = NDCG@n, k P@k = n P@n.
LetorMetrics EvaluateLetor(std::span<const int> relevances);

}  // namespace sortition
