#include "core/metrics/letor_metrics.h"

#include <cmath>
#include <vector>

#include "core/base/check.h"
#include "core/metrics/ranking_metrics.h"

namespace sortition {
namespace {

// Returns the expected cumulated gains: entry r is the sum over ranks 0 .. r.
std::vector<double> CumulatedGains(const TiedRanking& ranking) {
  std::vector<double> gains = ranking.ExpectedGains(
      [](uint32_t relevance) { return std::exp2(relevance) - 1; });
  double sum = 0;
  for (size_t rank = 0; rank < gains.size(); ++rank) {
    sum += rank < 2 ? gains[rank]
                    : gains[rank] / std::log2(static_cast<double>(rank) + 1);
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

LetorFigures LetorFiguresOf(const TiedRanking& ranking) {
  LetorFigures figures;
  if (ranking.size() == 0) return figures;
  const std::vector<double> gains = CumulatedGains(ranking);
  const std::vector<double> best = CumulatedGains(ranking.Best());
  if (best.front() == 0) return figures;
  for (size_t rank = 0; rank < gains.size(); ++rank) {
    const double ndcg = gains[rank] / best[rank];
    figures.mean_ndcg += ndcg / static_cast<double>(gains.size());
    if (rank < kLetorRanks) figures.ndcg[rank] = ndcg;
  }
  for (uint32_t k = 1; k <= kLetorRanks; ++k) {
    figures.precision[k - 1] = Precision(ranking, 1, k);
  }
  figures.average_precision = AveragePrecision(ranking, 1);
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
