#include "bench/support/ranked_labels.h"

#include <algorithm>
#include <utility>

#include "bench/support/shuffle.h"
#include "core/base/random.h"
#include "core/data/labelled_queries.h"

namespace sortition {
namespace {

// Moves a random pair of different relevances to the front of `order`.
void PairFirst(const LabelledItems& query, std::vector<uint32_t>* order,
               RandomSequence* random) {
  const auto& y = query.relevances;
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (uint32_t i = 0; i < y.size(); ++i) {
    for (uint32_t j = 0; j < y.size(); ++j) {
      if (y[i] > y[j]) pairs.emplace_back(i, j);
    }
  }
  const auto [better, worse] = pairs[random->Below(pairs.size())];
  std::swap((*order)[0], *std::ranges::find(*order, better));
  std::swap((*order)[1], *std::ranges::find(*order, worse));
}

}  // namespace

TiedRanking RankingByScore(const LabelledItems& query,
                           std::span<const double> weights) {
  std::vector<double> scores(query.relevances.size());
  ScoreAll(query.items, weights, scores);
  return TiedRanking(scores, query.relevances);
}

QuerySubsets::QuerySubsets(std::span<const LabelledItems> queries, size_t size,
                           size_t per_query, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  for (const LabelledItems& query : queries) {
    const auto [least, most] = std::ranges::minmax(query.relevances);
    if (least == most) continue;
    std::vector<uint32_t> order =
        IndexesUpTo<uint32_t>(query.relevances.size());
    for (size_t draw = 0; draw < per_query; ++draw) {
      Shuffle<uint32_t>(order, &random);
      PairFirst(query, &order, &random);
      Add(query, std::span(order).first(std::min(size, order.size())));
    }
  }
}

void QuerySubsets::Add(const LabelledItems& query,
                       std::span<const uint32_t> chosen) {
  const size_t d = query.items.num_features();
  std::vector<float>& features = features_.emplace_back();
  std::vector<uint32_t>& relevances = relevances_.emplace_back();
  for (const uint32_t i : chosen) {
    const auto row = query.items.values().subspan(i * d, d);
    features.insert(features.end(), row.begin(), row.end());
    relevances.push_back(query.relevances[i]);
  }
  views_.push_back(
      {Candidates::DenseUnchecked(features, query.items.num_features()),
       relevances});
}

}  // namespace sortition
