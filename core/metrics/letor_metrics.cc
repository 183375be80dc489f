#include "core/metrics/letor_metrics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/base/check.h"

namespace sortition {
namespace {

// Returns the cumulated gains: entry r is the sum over ranks 0 .. r.
std::vector<double> CumulatedGains(std::span<const int> relevances) {
  std::vector<double> gains(relevances.size());
  double sum = 0;
  for (size_t rank = 0; rank < gains.size(); ++rank) {
    DCHECK(relevances[rank] >= 0);
    const double gain = std::exp2(relevances[rank]) - 1;
    sum += rank < 2 ? gain : gain / std::log2(static_cast<double>(rank) + 1);
    gains[rank] = sum;
  }
  return gains;
}

void AddTo(const LetorFigures& figures, double share, LetorFigures* sum) {
  for (size_t k = 0; k < kLetorRanks; ++k) {
    sum->ndcg[k] += share * figures.ndcg[k];
    sum->precision[k] += share * figures.precision[k];
  }
  sum->mean_ndcg += share * figures.mean_ndcg;
  sum->average_precision += share * figures.average_precision;
}

}  // namespace

LetorFigures LetorFiguresOf(std::span<const int> relevances) {
  CHECK(!relevances.empty());
  LetorFigures figures;
  const size_t n = relevances.size();
  std::vector<int> ideal(relevances.begin(), relevances.end());
  std::sort(ideal.begin(), ideal.end(), std::greater<>());
  if (ideal.front() == 0) return figures;
  const std::vector<double> gains = CumulatedGains(relevances);
  const std::vector<double> best = CumulatedGains(ideal);
  int relevant = 0;
  for (size_t rank = 0; rank < std::max<size_t>(n, kLetorRanks); ++rank) {
    const double ranks = static_cast<double>(rank) + 1;
    if (rank < n) {
      const double ndcg = gains[rank] / best[rank];
      figures.mean_ndcg += ndcg / static_cast<double>(n);
      if (rank < kLetorRanks) figures.ndcg[rank] = ndcg;
      if (relevances[rank] > 0) {
        ++relevant;
        figures.average_precision += relevant / ranks;
      }
    }
    if (rank < kLetorRanks) figures.precision[rank] = relevant / ranks;
  }
  figures.average_precision /= relevant;
  return figures;
}

LetorFigures MeanOf(std::span<const LetorFigures> figures) {
  CHECK(!figures.empty());
  LetorFigures mean;
  for (const LetorFigures& one : figures) {
    AddTo(one, 1 / static_cast<double>(figures.size()), &mean);
  }
  return mean;
}

}  // namespace sortition
