#pragma once
// Metrics of the quality of one order. All take the relevances in rank order,
// best rank first: relevances[rank], not relevances[document_index]. Each
// relevance is at least 0.
#include <cstdint>
#include <span>

namespace sortition {

// Returns Σ_{rank < k} (2^relevance - 1) / log2(rank + 2)
// [JarvelinKekalainen02], with the exponential gain used in web search. k = 0:
// all ranks.
double Dcg(std::span<const int> relevances, uint32_t k);

// Returns Dcg divided by the largest Dcg of any order of `all_relevances`, the
// relevances of all candidates of the query; 0 if nothing is relevant.
double Ndcg(std::span<const int> relevances,
            std::span<const int> all_relevances, uint32_t k);

// Returns the same with linear gain: Σ_{rank < k} relevance / log2(rank + 2)
// divided by the largest such sum (seed 003, eq. 12, with all ranks). NaN if
// nothing is relevant, where the seed divides by 0.
double LinearNdcg(std::span<const int> relevances,
                  std::span<const int> all_relevances, uint32_t k);

// Returns the expected reciprocal rank at which a cascade user stops
// [Chapelle09]:
//   Σ_{rank < k} 1 / (rank + 1) · R_rank · Π_{q < rank} (1 - R_q),
//   R = (2^relevance - 1) / 2^max_relevance. k = 0: all ranks.
// Requires relevances up to max_relevance.
double ExpectedReciprocalRank(std::span<const int> relevances,
                              int max_relevance, uint32_t k);

// Returns the share of the first k ranks with relevance >= relevant_from;
// missing ranks count as not relevant. Requires k > 0.
double Precision(std::span<const int> relevances, int relevant_from,
                 uint32_t k);

}  // namespace sortition
