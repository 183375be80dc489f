#pragma once
// The metrics that the evaluation tool of LETOR 4.0 prints [QinLiu13], with its
// definitions, so that they can be compared with published results:
// - DCG@k = Σ over the first k ranks of (2^relevance - 1) times 1, 1, 1/log2 3,
//   1/log2 4, ..: the first two ranks are not discounted. NDCG@k is DCG@k over
//   that of the best order of all candidates. It is 0 if nothing is relevant,
//   and also if the query has fewer than k candidates.
// - Mean NDCG is the mean of NDCG@1 .. NDCG@n for n candidates.
// - For precision and average precision, a candidate is relevant if its
//   relevance is not 0. Ranks beyond the last count as not relevant. Average
//   precision is 0 if nothing is relevant.
// The tool ranks candidates with equal scores in the order of the file. Here
// each metric is the expectation over random orders of ties (tied_ranking.h).
#include <array>
#include <span>

#include "core/metrics/tied_ranking.h"

namespace sortition {

inline constexpr int kLetorRanks = 10;

// The metrics of one query, or means over queries.
struct LetorFigures {
  std::array<double, kLetorRanks> ndcg{};       // [k - 1]
  std::array<double, kLetorRanks> precision{};  // [k - 1]
  double mean_ndcg = 0;
  double average_precision = 0;
};

// Returns the metrics of one query; all are 0 for a ranking without candidates.
LetorFigures LetorFiguresOf(const TiedRanking& ranking);

// Returns the means over queries. Requires at least one query.
LetorFigures MeanOf(std::span<const LetorFigures> figures);

}  // namespace sortition
