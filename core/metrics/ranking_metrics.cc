#include "core/metrics/ranking_metrics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/base/check.h"

namespace sortition {
namespace {

size_t RanksUpTo(std::span<const int> relevances, uint32_t k) {
  return k == 0 ? relevances.size() : std::min<size_t>(relevances.size(), k);
}

}  // namespace

double Dcg(std::span<const int> relevances, uint32_t k) {
  double sum = 0;
  for (size_t rank = 0; rank < RanksUpTo(relevances, k); ++rank) {
    DCHECK(relevances[rank] >= 0);
    sum += (std::exp2(relevances[rank]) - 1) /
           std::log2(static_cast<double>(rank) + 2);
  }
  return sum;
}

double Ndcg(std::span<const int> relevances,
            std::span<const int> all_relevances, uint32_t k) {
  std::vector<int> ideal(all_relevances.begin(), all_relevances.end());
  std::sort(ideal.begin(), ideal.end(), std::greater<int>());
  const double best = Dcg(ideal, k);
  return best > 0 ? Dcg(relevances, k) / best : 0;
}

double ExpectedReciprocalRank(std::span<const int> relevances,
                              int max_relevance, uint32_t k) {
  double sum = 0;
  double still_looking = 1;
  for (size_t rank = 0; rank < RanksUpTo(relevances, k); ++rank) {
    DCHECK(relevances[rank] >= 0 && relevances[rank] <= max_relevance);
    const double stop =
        (std::exp2(relevances[rank]) - 1) / std::exp2(max_relevance);
    sum += still_looking * stop / (static_cast<double>(rank) + 1);
    still_looking *= 1 - stop;
  }
  return sum;
}

double Precision(std::span<const int> relevances, int relevant_from,
                 uint32_t k) {
  CHECK(k > 0);
  const auto first = relevances.first(RanksUpTo(relevances, k));
  const auto relevant = std::count_if(
      first.begin(), first.end(),
      [relevant_from](int relevance) { return relevance >= relevant_from; });
  return static_cast<double>(relevant) / k;
}

}  // namespace sortition
