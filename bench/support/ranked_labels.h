#pragma once
// Rankings of labelled queries, and parts of queries.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "core/data/labelled_items.h"
#include "core/metrics/tied_ranking.h"

namespace sortition {

// Returns the ranking of a query by falling score w·x.
TiedRanking RankingByScore(const LabelledItems& query,
                           std::span<const double> weights);

// Queries made of a few candidates of each query.
class QuerySubsets {
 public:
  // Draws `per_query` subsets of `size` candidates of each query that has
  // different relevances, all candidates if there are no more: a random pair of
  // different relevances, and others at random. Random only in the seed.
  // Requires size >= 2.
  QuerySubsets(std::span<const LabelledItems> queries, size_t size,
               size_t per_query, uint64_t seed);
  QuerySubsets(const QuerySubsets&) = delete;
  QuerySubsets& operator=(const QuerySubsets&) = delete;

  // Views of the subsets, valid as long as this.
  std::span<const LabelledItems> views() const { return views_; }

 private:
  void Add(const LabelledItems& query, std::span<const uint32_t> chosen);

  std::deque<std::vector<float>> features_;  // Elements are never moved.
  std::deque<std::vector<uint32_t>> relevances_;
  std::vector<LabelledItems> views_;
};

}  // namespace sortition
