#include "bench/support/ranked_labels.h"

#include <algorithm>

#include "bench/support/shuffle.h"
#include "core/base/random.h"
#include "core/data/labelled_queries.h"

namespace sortition {
namespace {

std::vector<int> InOrder(const LabelledItems& query,
                         std::span<const size_t> order) {
  std::vector<int> ranked;
  for (const size_t i : order) {
    ranked.push_back(static_cast<int>(query.relevances[i]));
  }
  return ranked;
}

}  // namespace

std::vector<int> RelevancesByScore(const LabelledItems& query,
                                   std::span<const double> weights) {
  std::vector<double> scores(query.relevances.size());
  ScoreAll(query.items, weights, scores);
  std::vector<size_t> order = IndexesUpTo<size_t>(scores.size());
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  return InOrder(query, order);
}

void ForEachRandomOrder(
    std::span<const LabelledItems> queries, int draws, uint64_t seed,
    const std::function<void(size_t query, std::span<const int> relevances)>&
        visit) {
  RandomSequence random(SeedKey(seed));
  for (size_t q = 0; q < queries.size(); ++q) {
    std::vector<size_t> order =
        IndexesUpTo<size_t>(queries[q].relevances.size());
    for (int draw = 0; draw < draws; ++draw) {
      Shuffle<size_t>(order, &random);
      visit(q, InOrder(queries[q], order));
    }
  }
}

}  // namespace sortition
