#pragma once
// The figures that the evaluation tool of LETOR 4.0 prints [QinLiu13], by its
// definitions, so that they can be compared with published ones:
// - DCG@k = Σ over the first k ranks of (2^relevance - 1) times 1, 1, 1/log2 3,
//   1/log2 4, ..: the first two ranks are not discounted. NDCG@k is DCG@k over
//   that of the best order of all candidates; 0 where nothing is relevant, and
//   0 too where the query has fewer than k candidates.
// - Mean NDCG is the mean of NDCG@1 .. NDCG@n of n candidates.
// - Relevant for precision and average precision is what is not 0. Ranks beyond
//   the last count as not relevant. Average precision is 0 where nothing is.
#include <array>
#include <span>

namespace sortition {

inline constexpr int kLetorRanks = 10;

// Of one query, or means over queries.
struct LetorFigures {
  std::array<double, kLetorRanks> ndcg{};       // [k - 1]
  std::array<double, kLetorRanks> precision{};  // [k - 1]
  double mean_ndcg = 0;
  double average_precision = 0;
};

// `relevances` of all candidates in rank order, best rank first; at least one,
// each at least 0.
LetorFigures LetorFiguresOf(std::span<const int> relevances);

// Requires at least one.
LetorFigures MeanOf(std::span<const LetorFigures> figures);

}  // namespace sortition
