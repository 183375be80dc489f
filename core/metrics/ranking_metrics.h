#pragma once
// Metrics of the quality of a ranking. Each is the expectation over random
// orders of the candidates with equal scores (tied_ranking.h). Relevant
// candidates without a rank (TiedRanking::unranked()) count in the best order
// of NDCG and in the denominators of average precision and recall.
#include <cstdint>

#include "core/metrics/tied_ranking.h"

namespace sortition {

// Returns Σ_{rank < k} (2^relevance - 1) / log2(rank + 2)
// [JarvelinKekalainen02], with the exponential gain used in web search. k = 0:
// all ranks.
double Dcg(const TiedRanking& ranking, uint32_t k);

// Returns Dcg divided by the largest Dcg of any order; 0 if nothing is
// relevant.
double Ndcg(const TiedRanking& ranking, uint32_t k);

// Returns NDCG with linear gain: Σ_{rank < k} relevance / log2(rank + 2)
// divided by the largest such sum (seed 003, eq. 12, with all ranks). k = 0:
// all ranks. NaN if nothing is relevant, where the seed divides by 0.
double LinearNdcg(const TiedRanking& ranking, uint32_t k);

// Returns the expected reciprocal rank at which a cascade user stops
// [Chapelle09]:
//   Σ_{rank < k} 1 / (rank + 1) · R_rank · Π_{q < rank} (1 - R_q),
//   R = (2^relevance - 1) / 2^max_relevance. k = 0: all ranks.
// Requires relevances up to max_relevance. O(n²) in the largest group.
double ExpectedReciprocalRank(const TiedRanking& ranking,
                              uint32_t max_relevance, uint32_t k);

// Returns the share of the first k ranks with relevance >= relevant_from;
// missing ranks count as not relevant. Requires k > 0.
double Precision(const TiedRanking& ranking, uint32_t relevant_from,
                 uint32_t k);

// Returns the share of the candidates with relevance >= relevant_from that are
// among the first k ranks; NaN if there are none. Requires k > 0.
double Recall(const TiedRanking& ranking, uint32_t relevant_from, uint32_t k);

// Returns the probability that one of the first k ranks has relevance >=
// relevant_from. Requires k > 0.
double Success(const TiedRanking& ranking, uint32_t relevant_from, uint32_t k);

// Returns the mean of the precisions at the ranks of the candidates with
// relevance >= relevant_from, 0 for those without a rank; 0 if there are none.
double AveragePrecision(const TiedRanking& ranking, uint32_t relevant_from);

// Returns 1 / (rank + 1) for the first candidate with relevance >=
// relevant_from; 0 if the first k have none. k = 0: all ranks.
double ReciprocalRank(const TiedRanking& ranking, uint32_t relevant_from,
                      uint32_t k);

}  // namespace sortition
