#pragma once
// Labelled queries in an order that does not depend on how the data list them.
// XGBoost breaks ties between scores by row number, ranks all candidates by row
// number before the first tree, and draws pairs by rank. With a file that lists
// relevant candidates first, training would therefore begin with the perfect
// order.
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "core/data/labelled_items.h"

namespace sortition {

// Owns copies of the queries. The candidates of each query are sorted by a hash
// of their features and relevance, and the queries by a hash of their sorted
// candidates: a pseudo-random order that is the same for every order of the
// data. Candidates with the same features and relevance are interchangeable.
class ArrangedQueries {
 public:
  explicit ArrangedQueries(std::span<const LabelledItems> queries);
  ArrangedQueries(const ArrangedQueries&) = delete;
  ArrangedQueries& operator=(const ArrangedQueries&) = delete;

  // Views of the queries, valid as long as this.
  std::span<const LabelledItems> views() const { return views_; }

  // Takes values of all candidates of the original queries, one query after
  // another, and returns them in the order of views().
  std::vector<float> Arrange(std::span<const float> values) const;

 private:
  struct Query {
    std::vector<uint32_t> offsets;  // Empty for dense rows.
    std::vector<uint32_t> columns;
    std::vector<float> values;
    std::vector<uint32_t> relevances;
  };

  std::deque<Query> queries_;  // Elements are never moved.
  std::vector<LabelledItems> views_;
  std::vector<size_t> origins_;  // Index of each candidate in the original.
};

}  // namespace sortition
