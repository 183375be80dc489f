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

double ExponentialGain(int relevance) { return std::exp2(relevance) - 1; }
double LinearGain(int relevance) { return relevance; }

// Returns Σ_{rank < k} gain(relevance) / log2(rank + 2).
double Discounted(std::span<const int> relevances, uint32_t k,
                  double (*gain)(int)) {
  double sum = 0;
  for (size_t rank = 0; rank < RanksUpTo(relevances, k); ++rank) {
    DCHECK(relevances[rank] >= 0);
    sum += gain(relevances[rank]) / std::log2(static_cast<double>(rank) + 2);
  }
  return sum;
}

std::vector<int> BestOrder(std::span<const int> relevances) {
  std::vector<int> best(relevances.begin(), relevances.end());
  std::sort(best.begin(), best.end(), std::greater<int>());
  return best;
}

}  // namespace

double Dcg(std::span<const int> relevances, uint32_t k) {
  return Discounted(relevances, k, ExponentialGain);
}

double Ndcg(std::span<const int> relevances,
            std::span<const int> all_relevances, uint32_t k) {
  const double best = Dcg(BestOrder(all_relevances), k);
  return best > 0 ? Dcg(relevances, k) / best : 0;
}

double LinearNdcg(std::span<const int> relevances,
                  std::span<const int> all_relevances, uint32_t k) {
  return Discounted(relevances, k, LinearGain) /
         Discounted(BestOrder(all_relevances), k, LinearGain);
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
