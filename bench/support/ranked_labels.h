#pragma once
// Relevance labels in the order of a ranking, and parts of queries.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "core/data/labelled_items.h"

namespace sortition {

// Returns the relevances of a query ranked by falling score w·x, ties in the
// order of the file.
std::vector<int> RelevancesByScore(const LabelledItems& query,
                                   std::span<const double> weights);

// Draws `draws` uniformly random orders of each query, one query after another,
// and calls visit(query, relevances by rank) for each. Random only in the seed.
void ForEachRandomOrder(
    std::span<const LabelledItems> queries, int draws, uint64_t seed,
    const std::function<void(size_t query, std::span<const int> relevances)>&
        visit);

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
