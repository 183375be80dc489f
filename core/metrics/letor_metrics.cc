#include "core/metrics/letor_metrics.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/base/check.h"

namespace sortition {
namespace {

constexpr size_t kRanks = 10;

// DCG@1 .. DCG@n.
std::vector<double> Dcgs(std::span<const int> relevances) {
  std::vector<double> dcgs;
  double sum = 0;
  for (size_t rank = 0; rank < relevances.size(); ++rank) {
    const double discount =
        rank < 2 ? 1 : 1 / std::log2(static_cast<double>(rank) + 1);
    sum += (std::exp2(relevances[rank]) - 1) * discount;
    dcgs.push_back(sum);
  }
  return dcgs;
}

}  // namespace

LetorMetrics EvaluateLetor(std::span<const int> relevances) {
  CHECK(!relevances.empty());
  const size_t n = relevances.size();
  std::vector<int> ideal(relevances.begin(), relevances.end());
  std::sort(ideal.begin(), ideal.end(), std::greater<int>());
  const std::vector<double> best = Dcgs(ideal);
  const std::vector<double> dcgs = Dcgs(relevances);
  LetorMetrics metrics;
  double relevant = 0;
  double precisions = 0;
  for (size_t rank = 0; rank < std::max(n, kRanks); ++rank) {
    const size_t last = std::min(rank, n - 1);
    const double ndcg = best[last] > 0 ? dcgs[last] / best[last] : 0;
    const auto k = static_cast<double>(rank + 1);
    if (rank < n) {
      metrics.mean_ndcg += ndcg / static_cast<double>(n);
      if (relevances[rank] > 0) {
        ++relevant;
        precisions += relevant / k;
      }
    }
    if (rank < kRanks) {
      metrics.ndcg.push_back(ndcg);
      metrics.precision.push_back(relevant / k);
    }
  }
  if (relevant > 0) metrics.average_precision = precisions / relevant;
  return metrics;
}

}  // namespace sortition
